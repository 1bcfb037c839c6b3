// Filters above the table of all rules. Without JavaScript the table is simply complete.
(() => {
  "use strict";

  const TOPICS = {
    0: "lint", 1: "copies", 2: "transfers", 3: "synchronization", 4: "loading", 5: "backends",
    6: "optimization", 7: "portability", 8: "precision", 9: "compile",
  };

  function choice(label, values) {
    const select = document.createElement("select");
    select.setAttribute("aria-label", label);
    select.append(new Option(label, ""), ...values.map((value) => new Option(value, value)));
    return select;
  }

  function facts(row) {
    const cells = [...row.cells].map((cell) => cell.textContent.trim());
    return { text: cells.join(" ").toLowerCase(), topic: TOPICS[cells[0][2]] || "", severity: cells[3], fix: cells[4] };
  }

  function addFilters() {
    const table = document.querySelector(".md-content table");
    if (!table || table.tHead.rows[0].cells[0].textContent.trim() !== "rule" || document.querySelector(".rule-filter")) return;
    const rows = [...table.tBodies[0].rows].map((row) => ({ row, ...facts(row) }));
    const distinct = (key) => [...new Set(rows.map((rule) => rule[key].split(",")[0]))];
    const text = document.createElement("input");
    text.type = "search";
    text.placeholder = "Filter by id, name or words";
    text.setAttribute("aria-label", text.placeholder);
    const topic = choice("topic", distinct("topic"));
    const severity = choice("severity", distinct("severity"));
    const fix = choice("fix", distinct("fix"));
    const count = document.createElement("output");

    function apply() {
      const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const rule of rows) {
        const kept = words.every((word) => rule.text.includes(word)) &&
          (!topic.value || rule.topic === topic.value) &&
          (!severity.value || rule.severity.startsWith(severity.value)) &&
          (!fix.value || rule.fix === fix.value);
        rule.row.hidden = !kept;
        shown += kept;
      }
      count.value = `${shown} of ${rows.length} rules`;
    }

    const bar = document.createElement("div");
    bar.className = "rule-filter";
    bar.append(text, topic, severity, fix, count);
    (table.closest(".md-typeset__scrollwrap") || table).before(bar);
    bar.addEventListener("input", apply);
    apply();
  }

  // Material replaces the page without loading it anew, and says so through this observable.
  if (window.document$) window.document$.subscribe(addFilters);
  else document.addEventListener("DOMContentLoaded", addFilters);
})();
