import type { Command } from 'commander';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

export function addThreads(program: Command): void {
  const group = program.command('threads').description('conversations of a space');
  const id = '<thread_id>';

  remote(inSpace(paged(group.command('list')).description('threads of a space, newest first')), {
    call: (client, { space, ...page }: InSpace & PageOptions) =>
      client.threads.list.query({ space_id: space, ...pageInput(page) }),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          title: (row) => row.title,
          status: (row) => row.status,
          updated: (row) => row.updated_at,
        }),
        meta,
      ),
  });
  remote(inSpace(group.command('get').description('one thread').argument(id)), {
    call: (client, { space }: InSpace, thread) =>
      client.threads.get.query({ space_id: space, thread_id: thread }),
    show: ({ data: { pii_mapping: mapping, ...thread } }) =>
      fields({ ...thread, personal_data: mapping === null ? null : mapping.entries.length }),
  });
  remote(inSpace(paged(group.command('messages')).description('its messages, oldest first').argument(id)), {
    call: (client, { space, ...page }: InSpace & PageOptions, thread) =>
      client.threads.messages.query({ space_id: space, thread_id: thread, ...pageInput(page) }),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          branch: (row) => row.branch_id,
          role: (row) => row.role,
          status: (row) => row.status,
          response: (row) => row.response_id,
          characters: (row) => row.content.length,
        }),
        meta,
      ),
  });
}

export function addGovernance(program: Command): void {
  const group = program.command('governance').description('what a space demands');
  const shown = ({ data }: { data: { policy_version: number; pii: object } }): string =>
    fields({
      policy_version: data.policy_version,
      ...Object.fromEntries(
        Object.entries(data.pii).map(([name, value]: [string, unknown]) => [
          name,
          Array.isArray(value) ? value.join(', ') : value,
        ]),
      ),
    });

  remote(inSpace(group.command('get').description('what a space demands')), {
    call: (client, { space }: InSpace) => client.governance.get.query({ space_id: space }),
    show: shown,
  });
  remote(
    inSpace(
      group.command('set').description('replaces what a space demands for personal data'),
    ).requiredOption('--mode <mode>', 'off, redact or block'),
    {
      call: (client, { space, mode }: InSpace & { mode: 'off' | 'redact' | 'block' }) =>
        client.governance.update.mutate({ space_id: space, pii: { mode } }),
      show: shown,
    },
  );
}
