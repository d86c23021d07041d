// Tables: made from columns, sorted, searched, and given as CSV.

function csv(header, rows) {
  const cell = (value) => {
    // As Python writes them; no number is an empty cell.
    if (Number.isNaN(value)) return "";
    if (value === Infinity || value === -Infinity) return value > 0 ? "inf" : "-inf";
    let text = value === null || value === undefined ? "" : String(value);
    // Terminals obey control characters: pictures of them, as in files that Python writes.
    text = text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, (sign) => String.fromCharCode(0x2400 + sign.charCodeAt()))
      .replace(/[\x7f-\x9f]/g, "\ufffd");
    // Spreadsheets run text that begins so as a formula.
    if (/^[=+\-@\t\r]/.test(text) && !(text - 0 === text - 0)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function download(name, header, rows) {
  // The mark of UTF-8, without which spreadsheets misread names.
  const blob = new Blob(["\ufeff", csv(header, rows)], { type: "text/csv" });
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(link.href);
}

const fileName = (...parts) =>
  `${parts.filter(Boolean).join("-").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 80)}.csv`;

function csvButton(name, header, rows) {
  const button = element("button", { type: "button", class: "quiet" }, "CSV");
  button.setAttribute("aria-label", `Download ${name} as CSV`);
  button.addEventListener("click", () => download(name, header, rows()));
  return button;
}

function plainTable(header, rows, caption) {
  const isNumber = (value) => typeof value === "number" || value === null;
  const head = header.map((name, k) =>
    element("th", { scope: "col", class: rows.every((row) => isNumber(row[k])) ? "number" : "text" }, name));
  const body = rows.map((row) =>
    element("tr", {}, ...row.map((value) =>
      isNumber(value)
        ? element("td", { class: "number" }, format(value, 4))
        : element("td", value.length > 24 ? { class: "words" } : {}, value))));
  const place = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element("table", {}, element("caption", { class: "hidden" }, caption),
      element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body)));
  sideways.observe(place);
  return place;
}

// Sorting by the buttons in the heads of columns, and rows hidden that a search does not find.
class TopicTable {
  constructor(table) {
    this.table = table;
    this.rows = [...table.tBodies[0].rows];
    this.heads = [...table.tHead.rows[0].cells];
    this.heads.forEach((head, k) => {
      head.querySelector("button").addEventListener("click", () => this.sort(k));
    });
  }

  sort(column) {
    const head = this.heads[column];
    const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    this.heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    this.order(column, direction);
  }

  order(column, direction) {
    const numeric = this.heads[column].dataset.kind === "number";
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
    const compare = (a, b) => {
      if (!numeric) return direction * a.localeCompare(b, undefined, { numeric: true });
      // What is missing comes last either way.
      if (a === "" || b === "") return (a === "") - (b === "");
      return direction * (Number(a) - Number(b) || 0);
    };
    this.rows.sort((a, b) => compare(key(a), key(b)));
    this.table.tBodies[0].append(...this.rows);
  }

  // The order that costs or prior have changed.
  again() {
    const column = this.heads.findIndex((head) => head.hasAttribute("aria-sort"));
    if (column < 0 || this.heads[column].dataset.live === undefined) return;
    this.order(column, this.heads[column].getAttribute("aria-sort") === "ascending" ? 1 : -1);
  }

  // Show the rows that hold a text; return how many.
  filter(wanted) {
    let shown = 0;
    for (const row of this.rows) {
      const text = `${row.cells[0].textContent} ${row.dataset.verdict}`.toLowerCase();
      row.hidden = !text.includes(wanted.trim().toLowerCase());
      shown += !row.hidden;
    }
    return shown;
  }

  // Cells as they sort; a number with an interval becomes three.
  csv(name) {
    const intervals = this.heads.map((_, k) => this.rows.some((row) => row.cells[k].dataset.lower !== undefined));
    const header = this.heads.flatMap((head, k) => {
      const title = head.querySelector("button").textContent.trim();
      return intervals[k] ? [title, `${title}, lower`, `${title}, upper`] : [title];
    });
    const cells = (cell, k) => {
      const own = cell.dataset.value ?? cell.textContent.trim();
      return intervals[k] ? [own, cell.dataset.lower ?? "", cell.dataset.upper ?? ""] : [own];
    };
    download(name, header, this.rows.map((row) => [...row.cells].flatMap(cells)));
  }
}
