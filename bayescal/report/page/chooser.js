// Which of several topics or queries is shown: tables that are searched and whose names lead to each,
// a list of all, and buttons for the one before and the one after.

class Chooser {
  // `section` is the id of the part of the page that shows one, `tables` are those of the tables of all;
  // `changed` is called with the index of the one to show.
  constructor(section, tables, changed) {
    Object.assign(this, { section, changed, all: tables[0] });
    this.tables = tables.map((id) => new TopicTable(byId(id)));
    this.count = this.tables[0].rows.length;
    // The first in the tables' own order, which may be another one than that of the data.
    this.current = Number(this.tables[0].rows[0].dataset.topic);
    this.#listen();
    this.#search();
  }

  // Say everywhere which one is shown.
  mark() {
    byId("choose").value = String(this.current);
    for (const row of this.tables.flatMap((table) => table.rows)) {
      row.classList.toggle("current", Number(row.dataset.topic) === this.current);
    }
  }

  #choose(index) {
    this.current = Math.min(Math.max(index, 0), this.count - 1);
    this.changed(this.current);
  }

  #listen() {
    byId("search").addEventListener("input", () => this.#search());
    for (const table of this.tables) {
      byId(`${table.table.id}-csv`).addEventListener("click", () => table.csv(`${table.table.id}.csv`));
    }
    byId("choose").addEventListener("change", (event) => this.#choose(Number(event.target.value)));
    byId("previous").addEventListener("click", () => this.#choose(this.current - 1));
    byId("next").addEventListener("click", () => this.#choose(this.current + 1));
    for (const button of document.querySelectorAll("[data-show]")) {
      button.addEventListener("click", () => {
        this.#choose(Number(button.dataset.show));
        byId(this.section).scrollIntoView();
        byId(`${this.section}-heading`).focus({ preventScroll: true });
      });
    }
  }

  #search() {
    const [shown] = this.tables.map((table) => table.filter(byId("search").value));
    byId("search-status").textContent = `${shown} of ${this.count} ${this.all}`;
  }
}
