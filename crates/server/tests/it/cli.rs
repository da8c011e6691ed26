//! The command line as its users see it: whole output, stderr and exit status, against a server in this process
//! whose clock stands still until a test moves it.

mod agents;
mod apply;
mod completing;
mod doctor;
mod help;
mod hostile;
mod keeping;
mod limits;
mod looking_back;
mod plan;
mod rates;
mod run;
mod slots;
mod stage;
mod terminal;
mod tokens;
mod trouble;
mod watch;
mod words;
