import { sleep } from 'workflow';

export async function oneByOneWorkflow({ name, forMs }: { name: string; forMs: number }) {
  'use workflow';
  await tell('begins', name);
  await sleep(forMs);
  await tell('ends', name);
  return { name };
}

async function tell(what: string, name: string) {
  'use step';
  const body = JSON.stringify({ callId: `${name} ${what}`, slotId: what });
  await fetch(`${process.env.PROVIDER_URL}/dial`, { method: 'POST', body });
}
