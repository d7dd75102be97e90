import type { Command } from 'commander';
import { fields, table } from '../print.ts';
import { nextPage, remote } from '../remote.ts';

const id = '<workflow_id>';
const form = 'as in Temporal UI: response/<tenant_id>/<response_id>, document/…, mcp-server/…';

export function addWorkflows(program: Command): void {
  const group = program.command('workflows').description('what Temporal knows of a response or a document');

  remote(group.command('describe').description('status, and the step that it waits for').argument(id, form), {
    call: (client, _options, workflowId) => client.workflows.describe.query({ workflow_id: workflowId }),
    show: ({ data: { resource, run, ...ids } }) => {
      const of = { ...ids, [resource.type]: resource.status, failure: resource.failure_code };
      if (run === null) {
        return `${fields(of)}\n\nTemporal does not know this workflow, not yet or no longer.`;
      }
      const { pending, ...rest } = run;
      const steps = table(pending, {
        step: (row) => row.activity,
        state: (row) => row.state,
        attempt: (row) => row.attempt,
        'last failure': (row) => row.last_failure,
        'next attempt': (row) => row.next_attempt_at,
      });
      return `${fields({ ...of, ...rest })}\n\npending steps:${pending.length === 0 ? ' none' : `\n${steps}`}`;
    },
  });

  remote(
    group
      .command('history')
      .description('the history as JSON, for Temporal’s own tools; it holds no content')
      .option('--cursor <cursor>', 'go on behind an earlier part; one has 2 MiB at most')
      .argument(id, form),
    {
      call: (client, { cursor }: { cursor?: string }, workflowId) =>
        client.workflows.history.query({
          workflow_id: workflowId,
          ...(cursor === undefined ? {} : { cursor }),
        }),
      show: ({ data }) => JSON.stringify(data.history, null, 2),
      next: ({ data }) => nextPage(data),
    },
  );
}
