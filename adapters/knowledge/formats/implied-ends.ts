const names = (list: string): ReadonlySet<string> => new Set(list.split(' '));

interface Rule {
  /** Elements that a tag ends where they are open. */
  ends: ReadonlySet<string>;
  /** Elements out of which it ends none. */
  within: ReadonlySet<string>;
}

const cells = { ends: names('td th'), within: names('tr table') };
const rows = { ends: names('tr td th caption colgroup'), within: names('table tbody thead tfoot') };
const groups = { ends: names('tbody thead tfoot tr td th caption colgroup'), within: names('table') };
const terms = { ends: names('dt dd'), within: names('dl table td th') };
const ruby = { ends: names('rt rp'), within: names('ruby') };
const blocks = { ends: names('p'), within: names('table caption td th button object template') };

const rules: ReadonlyMap<string, Rule> = new Map([
  ...Object.entries({ td: cells, th: cells, tr: rows, tbody: groups, thead: groups, tfoot: groups }),
  ...Object.entries({ dt: terms, dd: terms, rt: ruby, rp: ruby }),
  ['li', { ends: names('li'), within: names('ul ol menu table td th') }],
  ['option', { ends: names('option'), within: names('select datalist optgroup') }],
  ['optgroup', { ends: names('option optgroup'), within: names('select datalist') }],
  ...[
    ...names(
      'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form ' +
        'h1 h2 h3 h4 h5 h6 header hr main menu nav ol p pre search section summary table ul',
    ),
  ].map((name) => [name, blocks] as const),
]);

const ofHead = names('base basefont bgsound link meta title noscript noframes style script template');

/**
 * How many of the open elements stay open when a tag of HTML opens: end tags may be left out.
 * @param open the outermost first
 */
export function openAfter(open: readonly string[], name: string): number {
  if (open.at(-1) === 'head' && !ofHead.has(name)) {
    return open.length - 1;
  }
  const rule = rules.get(name);
  let depth = open.length;
  if (rule === undefined) {
    return depth;
  }
  for (let at = open.length - 1; at >= 0; at -= 1) {
    const each = open[at] ?? '';
    if (rule.within.has(each)) break;
    if (rule.ends.has(each)) depth = at;
  }
  return depth;
}
