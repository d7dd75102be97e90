/** An escaped character, a text in quotation marks, and what else closes or opens. */
const tokens = /\\[^]?|"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|["'()]/g;

/** Whether a filter within parentheses is one condition: those of its own are balanced, and its texts end. */
export function isEnclosable(jql: string): boolean {
  let open = 0;
  for (const [token] of jql.matchAll(tokens)) {
    open += token === '(' ? 1 : token === ')' ? -1 : 0;
    if (open < 0 || ['"', "'", '\\'].includes(token)) {
      return false;
    }
  }
  return open === 0;
}

/** Of the scope. */
interface Restriction {
  projects: readonly string[];
  jql: string;
}

/** By creation, so that a change meanwhile moves nothing to another page. @param since as of `localTime` */
export function listingJql(scope: Restriction, since: string | null): string {
  const parts = [...restrictions(scope), ...(since === null ? [] : [`updated >= "${since}"`])];
  return `${parts.join(' AND ')} ORDER BY created ASC, key ASC`;
}

/** Finds an issue by its id if it matches the scope. */
export function singleJql(scope: Restriction, id: string): string {
  return [`id = ${id}`, ...restrictions(scope)].join(' AND ');
}

function restrictions({ projects, jql }: Restriction): string[] {
  return [
    // In quotation marks: a key may be a reserved word of JQL.
    ...(projects.length === 0 ? [] : [`project in (${projects.map((key) => `"${key}"`).join(', ')})`]),
    ...(jql === '' ? [] : [`(${jql})`]),
  ];
}
