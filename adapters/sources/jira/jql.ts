import type { JiraScope } from './scope.ts';

type Restriction = Pick<JiraScope, 'projects' | 'jql'>;

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
