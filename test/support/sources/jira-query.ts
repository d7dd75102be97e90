import type { FakeIssue } from './jira-server.ts';

/** A query that the service refuses. */
export class BadQuery extends Error {}

/**
 * The part of JQL that tests use: conditions joined by AND, in parentheses or not, of `project`, `labels`, `id` and
 * `updated`, whose time is read in the zone of the account.
 */
export function parseJql(
  jql: string,
  projects: readonly string[],
  timeZone: string,
): (issue: FakeIssue) => boolean {
  const [where = '', order] = jql.split(/\s*\bORDER BY\b\s*/);
  if (order !== undefined && !/^(?:created|key) ASC(?:, (?:created|key) ASC)?$/.test(order)) {
    throw new BadQuery('Error in the JQL Query.');
  }
  if (where.trim() === '') {
    throw new BadQuery(
      'Unbounded JQL queries are not allowed here. Please add a search restriction to your query.',
    );
  }
  const tests = where.split(' AND ').map((given): ((issue: FakeIssue) => boolean) => {
    const condition = /^\((.*)\)$/.exec(given)?.[1] ?? given;
    const [, field, operator, value = ''] =
      /^(project|labels|id|updated) (in|=|>=) (\S.*)$/.exec(condition) ?? [];
    const unquoted = value.replaceAll(/^"|"$/g, '');
    if (field === 'project' && operator === 'in') {
      const keys = value
        .slice(1, -1)
        .split(', ')
        .map((key) => key.slice(1, -1));
      const unknown = keys.find((key) => !projects.includes(key));
      if (unknown !== undefined)
        throw new BadQuery(`The value '${unknown}' does not exist for the field 'project'.`);
      return ({ project }) => keys.includes(project);
    }
    if (field === 'labels' && operator === '=') return ({ labels }) => labels.includes(unquoted);
    if (field === 'id' && operator === '=') return ({ id }) => id === unquoted;
    if (field === 'updated' && operator === '>=' && /^\d{4}-\d\d-\d\d \d\d:\d\d$/.test(unquoted)) {
      return ({ updated }) => localTimeIn(timeZone, updated) >= unquoted;
    }
    throw new BadQuery('Error in the JQL Query: the character is a reserved JQL character.');
  });
  return (issue) => tests.every((test) => test(issue));
}

function localTimeIn(timeZone: string, ms: number): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(ms);
}
