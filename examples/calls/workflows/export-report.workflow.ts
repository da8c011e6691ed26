import { withLimit } from 'maitred/workflow';

export async function exportReportWorkflow(input: { reportId: string }) {
  'use workflow';
  return withLimit(
    'partner-api',
    async () => {
      const file = await buildReport(input.reportId); // a 'use step'
      return { file };
    },
    { label: input.reportId },
  );
}

async function buildReport(reportId: string) {
  'use step';
  return `${reportId}.pdf`;
}
