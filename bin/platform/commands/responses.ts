import type { Command } from 'commander';
import type { ResponseStatus } from '#domain/responses/response-status.ts';
import { table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface ListOptions extends PageOptions {
  space: string;
  status?: ResponseStatus;
}

export function addResponses(program: Command): void {
  const group = program.command('responses').description('what the models are doing and have done');

  remote(
    paged(group.command('list'))
      .description('responses of a space, newest first')
      .requiredOption('--space <id>')
      .option('--status <status>', 'queued, in_progress, completed, incomplete, failed or cancelled'),
    {
      call: (client, { space, status, ...page }: ListOptions) =>
        client.responses.list.query({
          space_id: space,
          ...(status === undefined ? {} : { status }),
          ...pageInput(page),
        }),
      show: ({ data, meta }) =>
        withNext(
          table(data, {
            id: (row) => row.id,
            status: (row) => row.status,
            model: (row) => row.model_alias,
            created: (row) => row.created_at,
            attempts: (row) => row.platform.attempts,
            cost: (row) => row.usage.cost_usd,
            reason: (row) => row.platform.failure_reason?.code ?? row.platform.incomplete_reason,
          }),
          meta,
        ),
    },
  );
}
