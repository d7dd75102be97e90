import { InvalidArgumentError, type Command } from 'commander';
import {
  eventCategories,
  resourceTypes,
  type EventCategory,
  type ResourceType,
} from '#domain/foundation/events/catalogue.ts';
import type { Outputs } from '../connect.ts';
import { fields, table } from '../print.ts';
import { nextPage, paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';
import type { VerifyOptions } from '../verify-events.ts';

interface Filters extends PageOptions {
  category?: EventCategory;
  resourceType?: ResourceType;
  resource?: string;
  from?: string;
  to?: string;
}

const oneOf =
  <T extends string>(values: readonly T[]) =>
  (given: string): T => {
    const value = values.find((each) => each === given);
    if (value === undefined) throw new InvalidArgumentError(`It is one of ${values.join(', ')}.`);
    return value;
  };

const filtered = (command: Command): Command =>
  command
    .option('--category <category>', 'space, collection, security or system', oneOf(eventCategories))
    .option('--resource-type <type>', 'of the resource that it is about', oneOf(resourceTypes))
    .option('--resource <id>', 'of one resource')
    .option('--from <time>', 'the earliest, such as 2026-11-01T00:00:00Z')
    .option('--to <time>', 'the latest, such as 2026-11-30T23:59:59Z');

const toInput = ({ category, resourceType, resource, from, to, ...page }: Filters) => ({
  ...pageInput(page),
  ...(category === undefined ? {} : { category }),
  ...(resourceType === undefined ? {} : { resource_type: resourceType }),
  ...(resource === undefined ? {} : { resource_id: resource }),
  ...(from === undefined ? {} : { from_date: from }),
  ...(to === undefined ? {} : { to_date: to }),
});

const rows = (data: Outputs['events']['list']['data']): string =>
  table(data, {
    time: (row) => row.created_at,
    event: (row) => row.event_type,
    actor: (row) => row.actor_name ?? row.actor_id,
    resource: (row) => `${row.resource_type} ${row.resource_id}`,
    id: (row) => row.id,
  });

export function addEvents(program: Command): void {
  const group = program.command('events').description('the event log');

  remote(
    filtered(paged(group.command('list')).description('events, newest first, with totals by category')),
    {
      call: (client, options: Filters) => client.events.list.query(toInput(options)),
      show: ({ data, meta, counts }) => withNext(`${rows(data)}\n\n${fields(counts)}`, meta),
    },
  );
  remote(group.command('get').description('one event').argument('<event_id>'), {
    call: (client, _options, id) => client.events.get.query({ event_id: id }),
    show: ({ data }) => fields(data),
  });
  remote(
    filtered(
      paged(group.command('export')).description(
        'up to 1,000 events a call, one JSON object a line; each export is recorded in the log',
      ),
    ),
    {
      call: (client, options: Filters) => client.events.export.mutate(toInput(options)),
      show: ({ data }) => data.map((event) => JSON.stringify(event)).join('\n'),
      next: ({ meta }) => nextPage(meta),
    },
  );
  group
    .command('verify')
    .description('compare tenants’ events with their seals and anchors (DATABASE_URL, ANCHOR_FILE)')
    .option('--tenant <id>', 'one tenant; all that have a chain without it')
    .option('--anchors <path...>', 'anchor files, instead of ANCHOR_FILE')
    .option('--retention-days <n>', 'what is kept, instead of EVENT_RETENTION_DAYS', Number)
    .option('--json', 'print JSON')
    .action(async (options: VerifyOptions) => {
      const { verifyEvents } = await import('../verify-events.ts');
      await verifyEvents(options);
    });
}
