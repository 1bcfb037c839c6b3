"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const get = (id) => document.getElementById(id);
  const say = (text) => { get("status").textContent = text; };

  // Light and dark: the system's choice until the reader makes one.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const named = () => { get("theme").textContent = dark() ? "Light" : "Dark"; };
  const theme = () => { root.dataset.theme = dark() ? "light" : "dark"; named(); };
  system.addEventListener("change", named);
  named();

  // Folded lines.
  let open = false;
  const unfold = () => {
    open = !open;
    for (const fold of document.querySelectorAll("details.fold, details.more, details.events")) fold.open = open;
    get("unfold").textContent = open ? "Fold all" : "Unfold all";
    get("unfold").setAttribute("aria-pressed", String(open));
  };

  const help = () => {
    const box = get("help");
    box.hidden = !box.hidden;
    get("keys").setAttribute("aria-expanded", String(!box.hidden));
  };

  // From finding to finding; what a filter hides is passed over.
  const every = [...document.querySelectorAll(".card")];
  const shown = (card) => {
    for (let box = card.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  };
  const move = (by) => {
    const cards = every.filter((card) => !card.hidden);
    if (!cards.length) return;
    const current = document.activeElement ? document.activeElement.closest(".card") : null;
    const at = cards.indexOf(current);
    const next = at < 0 ? (by > 0 ? 0 : cards.length - 1) : Math.min(Math.max(at + by, 0), cards.length - 1);
    shown(cards[next]);
    cards[next].focus({ preventScroll: true });
    cards[next].scrollIntoView({ block: "center" });
    say(`${next + 1} of ${cards.length}`);
  };

  // The search and the filters of the findings: all words must be there, in any order.
  const form = get("filters");
  const plain = (text) => text.toLowerCase().replace(/\s+/g, " ");
  const texts = form ? every.map((card) => plain(`${card.closest(".file").querySelector("h3").textContent} ${card.textContent}`)) : [];
  const filter = () => {
    const words = plain(get("search").value).split(" ");
    const severities = [...form.elements.severity?.length ? form.elements.severity : [form.elements.severity]];
    const wanted = new Set(severities.filter((box) => box.checked).map((box) => box.value));
    const rule = get("rule").value;
    every.forEach((card, at) => {
      const { severity, rule: own, fix } = card.dataset;
      const fits = wanted.has(severity) && (!rule || rule === own) && (!get("fixable").checked || fix !== undefined);
      card.hidden = !fits || !words.every((word) => texts[at].includes(word));
    });
    for (const file of document.querySelectorAll("section.file")) {
      file.hidden = !file.querySelector(".card:not([hidden])");
      const link = document.querySelector(`.files a[href="#${file.id}"]`);
      if (link) link.parentElement.hidden = file.hidden;
    }
    get("matches").textContent = `${every.filter((card) => !card.hidden).length} of ${every.length} shown`;
  };
  const reset = () => { form.reset(); filter(); };
  const search = () => { if (form) { get("search").focus(); get("search").select(); } };
  if (form) {
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") reset(); });
    filter();
  }

  // A link to a folded line unfolds it, and one to a finding that is filtered out shows all again.
  const arrive = () => {
    const target = location.hash.length > 1 ? get(decodeURIComponent(location.hash.slice(1))) : null;
    if (target && target.closest("[hidden]")) reset();
    if (target) { shown(target); target.scrollIntoView({ block: "center" }); }
  };
  addEventListener("hashchange", arrive);
  arrive();

  const copied = async (button) => {
    const text = get(button.dataset.copy || "")?.textContent ?? button.parentElement.querySelector("pre").textContent;
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.parentElement.querySelector("pre"));
      button.textContent = "Selected; press Ctrl+C";
    }
    say(button.textContent);
    setTimeout(() => { button.textContent = before; }, 2000);
  };

  get("theme").addEventListener("click", theme);
  get("unfold").addEventListener("click", unfold);
  get("keys").addEventListener("click", help);
  for (const button of document.querySelectorAll("button.copy")) button.addEventListener("click", () => copied(button));

  const keys = { j: () => move(1), k: () => move(-1), e: unfold, t: theme, "?": help, "/": search };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const action = keys[event.key];
    if (action) { event.preventDefault(); action(); }
  });
})();
