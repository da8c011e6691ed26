//! `simulate SEED HOURS [HOURS_EACH]`: prints what was met; the exit status is 1 if something is broken.

fn main() -> std::process::ExitCode {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<f64>().expect("a number"));
    let seed = args.next().unwrap_or(1.0) as u64;
    let hours = args.next().unwrap_or(10.0);
    let each = args.next().unwrap_or(0.5);
    let report = maitred_simulator::run_many(seed, hours, each);
    println!("{report}");
    println!("not covered: {:?}", report.not_covered());
    std::process::ExitCode::from(u8::from(!report.failures.is_empty()))
}
