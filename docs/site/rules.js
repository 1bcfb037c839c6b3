// Filters above the table of all rules. Without JavaScript the table is simply complete.
(() => {
  "use strict";

  const TOPICS = {
    0: "lint", 1: "copies", 2: "transfers", 3: "synchronization", 4: "loading", 5: "backends",
    6: "optimization", 7: "portability", 8: "precision", 9: "compile",
  };
  const FILTERS = ["topic", "group", "severity", "fix"];

  function choice(label, values) {
    const select = document.createElement("select");
    select.setAttribute("aria-label", label);
    select.append(new Option(label, ""), ...values.map((value) => new Option(value, value)));
    return select;
  }

  function heads(table) {
    return [...(table.tHead ? table.tHead.rows[0].cells : [])].map((cell) => cell.textContent.trim());
  }

  function facts(row, columns) {
    const cells = [...row.cells].map((cell) => cell.textContent.trim());
    const named = Object.fromEntries(columns.map((column, index) => [column, cells[index].split(",")[0]]));
    return { ...named, text: cells.join(" ").toLowerCase(), topic: TOPICS[named.rule[2]] || "" };
  }

  function addFilters() {
    const table = [...document.querySelectorAll(".md-content table")].find((each) =>
      ["rule", "group", "severity", "fix"].every((head) => heads(each).includes(head)));
    if (!table || document.querySelector(".rule-filter")) return;
    const columns = heads(table);
    const rows = [...table.tBodies[0].rows].map((row) => ({ row, ...facts(row, columns) }));
    const text = document.createElement("input");
    text.type = "search";
    text.placeholder = "Filter by id, name or words";
    text.setAttribute("aria-label", text.placeholder);
    const choices = FILTERS.map((key) => [key, choice(key, [...new Set(rows.map((rule) => rule[key]))])]);
    const count = document.createElement("output");

    function apply() {
      const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const rule of rows) {
        const kept = words.every((word) => rule.text.includes(word)) &&
          choices.every(([key, select]) => !select.value || rule[key] === select.value);
        rule.row.hidden = !kept;
        shown += kept;
      }
      count.value = `${shown} of ${rows.length} rules`;
    }

    const bar = document.createElement("div");
    bar.className = "rule-filter";
    bar.append(text, ...choices.map(([, select]) => select), count);
    (table.closest(".md-typeset__scrollwrap") || table).before(bar);
    bar.addEventListener("input", apply);
    apply();
  }

  // Material replaces the page without loading it anew, and says so through this observable.
  if (window.document$) window.document$.subscribe(addFilters);
  else document.addEventListener("DOMContentLoaded", addFilters);
})();
