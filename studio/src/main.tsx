import { render } from "preact";
import { App } from "./app";
import "uplot/dist/uPlot.min.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/tables.css";
import "./styles/shell.css";
import "./styles/pages.css";
import "./styles/narrow.css";

render(<App />, document.getElementById("app")!);
