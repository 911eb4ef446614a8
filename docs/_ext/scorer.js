/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of the search (html_search_scorer): a title with more words of the query comes first, and
   pages about the project and other libraries' defects come after those about its use. */
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, title, anchor, , score]) => {
    const text = new URLSearchParams(window.location.search).get("q") || "";
    const words = text.toLowerCase().match(/\w+/g) || [];
    const found = words.filter((word) => title.toLowerCase().includes(word)).length;
    const project = /^(changelog|conformance|coverage|design|measurements|scaling|seen|trust|reports\/|proposals\/)/.test(page);
    return score + (10 * found) / (words.length || 1) - (project ? 12 : 0) - (anchor ? 1 : 0);
  },
};
