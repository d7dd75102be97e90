import type { Command } from 'commander';
import type { ResponseStatus } from '#domain/responses/record/response-status.ts';
import type { Outputs } from '../connect.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface ListOptions extends PageOptions {
  space: string;
  status?: ResponseStatus;
}

type Record = Outputs['responses']['cancel']['data'];

export function addResponses(program: Command): void {
  const group = program.command('responses').description('what the models are doing and have done');

  const list = paged(group.command('list'))
    .description('responses of a space, newest first')
    .requiredOption('--space <id>', 'the space')
    .option('--status <status>', 'queued, in_progress, completed, incomplete, failed or cancelled');
  remote(list, {
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
          reason,
        }),
        meta,
      ),
  });

  remote(
    group
      .command('inspect')
      .description('turns, attempts, tool calls and cost of a response')
      .argument('<response_id>'),
    {
      call: (client, _options, id) => client.responses.inspect.query({ response_id: id }),
      show: showInspection,
    },
  );
  const inputItems = paged(group.command('input-items'))
    .description('what a response was given, in order')
    .argument('<response_id>');
  remote(inputItems, {
    call: (client, options: PageOptions, id) =>
      client.responses.inputItems.query({ response_id: id, ...pageInput(options) }),
    show: ({ data, meta }) => withNext(table(data, { id: (row) => row.id, type: (row) => row.type }), meta),
  });
  remote(group.command('cancel').description('end a running response').argument('<response_id>'), {
    call: (client, _options, id) => client.responses.cancel.mutate({ response_id: id }),
    show: ({ data }) => fields(summary(data)),
  });
  remote(group.command('delete').description('a response with its content').argument('<response_id>'), {
    call: (client, _options, id) => client.responses.delete.mutate({ response_id: id }),
    show: ({ data }) => fields(data),
  });
  remote(
    group
      .command('restart')
      .description('ask for a failed response once more, as a new one')
      .argument('<response_id>'),
    {
      call: (client, _options, id) => client.responses.restart.mutate({ response_id: id }),
      show: ({ data }) => fields(summary(data)),
    },
  );
}

function reason(record: Record): string | null {
  return record.platform.failure_reason?.code ?? record.platform.incomplete_reason;
}

function summary(record: Record): object {
  return {
    id: record.id,
    status: record.status,
    reason: reason(record),
    model: record.model_alias,
    created: record.created_at,
    finished: record.finished_at,
    cost_usd: record.usage.cost_usd,
  };
}

function showInspection({ data }: Outputs['responses']['inspect']): string {
  const head = { ...summary(data.response), deadline: data.deadline_at, workflow: data.workflow_id };
  const attempts = data.turns.flatMap(({ iteration, attempts: made }) =>
    made.map((attempt) => ({ turn: iteration, ...attempt })),
  );
  const calls = data.turns.flatMap(({ iteration, calls: made }) =>
    made.map((call) => ({ turn: iteration, ...call })),
  );
  return [
    fields(head),
    '',
    table(attempts, {
      turn: (row) => row.turn,
      attempt: (row) => row.attempt,
      outcome: (row) => row.outcome,
      failure: (row) => row.failure_code,
      continuation: (row) => row.continuation,
      began: (row) => row.started_at,
      ended: (row) => row.ended_at,
    }),
    ...(calls.length === 0
      ? []
      : [
          '',
          table(calls, {
            turn: (row) => row.turn,
            tool: (row) => row.tool,
            call: (row) => row.call_id,
            status: (row) => row.status,
            outcome: (row) => row.outcome,
            began: (row) => row.started_at,
            ended: (row) => row.done_at,
          }),
        ]),
  ].join('\n');
}
