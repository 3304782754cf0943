// All tensors in one scrolling table: rows come from the API in pages, and only the rows in sight
// are in the document. Without this script the page has the same rows with links between pages.
import { foreign } from "./text.js";

const PAGE = 200;
const ROW = 36; // pixels; site.css sets the same
const SPARE = 12; // rows above and below the window
const WIDE = "(min-width: 621px)";
const host = document.querySelector("[data-rows]");
const total = host ? Number(host.dataset.total) : 0;

class Rows {
  #pages = new Map();

  constructor(url, query) {
    this.url = url;
    this.query = query;
  }

  // The row, or undefined while its page is on the way.
  get(index, arrived) {
    const number = Math.floor(index / PAGE);
    const page = this.#pages.get(number);
    if (page === undefined) {
      this.#pages.set(number, null);
      this.#load(number, arrived);
    }
    return page?.[index % PAGE];
  }

  async #load(number, arrived) {
    const given = [...new URLSearchParams(this.query)].filter(([, value]) => value !== "");
    const query = new URLSearchParams(given);
    query.set("start", String(number * PAGE));
    query.set("limit", String(PAGE));
    try {
      const response = await fetch(`${this.url}?${query}`);
      if (!response.ok) throw new Error(String(response.status));
      this.#pages.set(number, (await response.json()).items);
      arrived();
    } catch {
      this.#pages.delete(number); // asked for again at the next scroll
    }
  }
}

function cell(content, className = "", tag = "td") {
  const made = document.createElement(tag);
  made.className = className;
  made.append(content);
  return made;
}

function number(value) {
  return value === null ? "–" : value.toLocaleString("en-GB");
}

function place(tensor) {
  const elsewhere = (tensor.file ?? host.dataset.file) !== host.dataset.file;
  if (elsewhere) return foreign(tensor.file);
  if (host.dataset.base === "") return "–";
  const offset = Number(host.dataset.base) + tensor.offset;
  const link = document.createElement("a");
  link.className = "mono";
  link.href = `${host.dataset.tab}?at=${offset}#at`;
  link.textContent = `0x${offset.toString(16).toUpperCase().padStart(8, "0")}`;
  return link;
}

function draw(tensor, index) {
  const row = document.createElement("tr");
  row.setAttribute("aria-rowindex", String(index + 2));
  if (!tensor) {
    row.append(cell("…", "dim", "th"), ...Array.from({ length: 5 }, () => cell("")));
    return row;
  }
  const name = cell(foreign(tensor.name), "mono", "th");
  name.scope = "row";
  name.title = name.textContent;
  row.append(
    name,
    cell(foreign(tensor.type)),
    cell(tensor.shape.map(number).join(" × "), "mono shape"),
    cell(number(tensor.elements), "n"),
    cell(number(tensor.bytes), "n"),
    cell(place(tensor)),
  );
  return row;
}

function gap(rows) {
  const row = document.createElement("tr");
  row.className = "gap";
  row.setAttribute("aria-hidden", "true");
  const filler = cell("");
  filler.colSpan = 6;
  filler.height = rows * ROW;
  row.append(filler);
  return row;
}

function start() {
  const table = host.querySelector("table");
  const body = table.tBodies[0];
  const query = new URLSearchParams(location.search);
  const first = Number(query.get("start")) || 0;
  const rows = new Rows(host.dataset.rows, query);
  let frame = 0;

  function paint() {
    frame = 0;
    const from = Math.max(0, Math.floor(host.scrollTop / ROW) - SPARE);
    const to = Math.min(total, from + Math.ceil(host.clientHeight / ROW) + 2 * SPARE);
    const made = [gap(from)];
    for (let index = from; index < to; index++) made.push(draw(rows.get(index, later), index));
    made.push(gap(total - to));
    body.replaceChildren(...made);
  }

  function later() {
    frame ||= requestAnimationFrame(paint);
  }

  host.classList.add("window");
  host.tabIndex = 0; // scrolled with the arrow keys
  host.setAttribute("role", "region");
  host.setAttribute("aria-label", "Tensors, scrolling");
  table.setAttribute("aria-rowcount", String(total + 1));
  document.querySelector(".pager").hidden = true;
  host.addEventListener("scroll", later, { passive: true });
  addEventListener("resize", later);
  paint();
  host.scrollTop = first * ROW;
}

// A link to one tensor shows the server's page, where that row can be the target of the address.
if (total > PAGE && !location.hash && matchMedia(WIDE).matches) start();
