import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Outputs } from '../connect.ts';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface NewMessage extends InSpace {
  contentFile: string;
  branch?: string;
}

/** Without its text. */
const showMessage = ({ data: { content, ...message } }: Outputs['threads']['addMessage']): string =>
  fields({ ...message, characters: content.length });
const showThread = ({ data: { pii_mapping: mapping, ...thread } }: Outputs['threads']['get']): string =>
  fields({ ...thread, personal_data: mapping === null ? null : mapping.entries.length });

/** Message text never appears in a command line. */
const said = ({ space, contentFile, branch }: NewMessage) => ({
  space_id: space,
  content: readFileSync(contentFile, 'utf8'),
  ...(branch === undefined ? {} : { branch_id: branch }),
});
const withText = (command: Command): Command =>
  inSpace(command)
    .requiredOption('--content-file <path>', 'a file with the text')
    .option('--branch <id>', 'the branch');

export function addThreads(program: Command): void {
  const group = program.command('threads').description('conversations of a space');
  const id = '<thread_id>';

  const list = inSpace(paged(group.command('list')).description('threads of a space, newest first'));
  remote(list.option('--project <id>', 'those of this project'), {
    call: (client, { space, project, ...page }: InSpace & PageOptions & { project?: string }) =>
      client.threads.list.query({
        space_id: space,
        ...pageInput(page),
        ...(project === undefined ? {} : { project_id: project }),
      }),
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
    show: showThread,
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
  remote(
    withText(group.command('start').description('a new thread with its first message'))
      .option('--title <title>', 'for people')
      .option('--project <id>', 'the project'),
    {
      call: (client, options: NewMessage & { title?: string; project?: string }) =>
        client.threads.start.mutate({
          ...said(options),
          ...(options.title === undefined ? {} : { title: options.title }),
          ...(options.project === undefined ? {} : { project_id: options.project }),
        }),
      show: showMessage,
    },
  );
  remote(
    withText(group.command('add-message').description('one more message, which no model answers'))
      .argument(id)
      .option('--parent <id>', 'the message before it; the last one of the branch when not given'),
    {
      call: (client, options: NewMessage & { parent?: string }, thread) =>
        client.threads.addMessage.mutate({
          ...said(options),
          thread_id: thread,
          ...(options.parent === undefined ? {} : { parent_message_id: options.parent }),
        }),
      show: showMessage,
    },
  );
  remote(
    inSpace(group.command('update').description('change what is given').argument(id))
      .option('--title <title>', 'for people')
      .option('--status <status>', 'active or archived'),
    {
      call: (
        client,
        { space, title, status }: InSpace & { title?: string; status?: 'active' | 'archived' },
        thread,
      ) =>
        client.threads.update.mutate({
          space_id: space,
          thread_id: thread,
          ...(title === undefined ? {} : { title }),
          ...(status === undefined ? {} : { status }),
        }),
      show: showThread,
    },
  );
  remote(inSpace(group.command('delete').description('a thread with its messages').argument(id)), {
    call: (client, { space }: InSpace, thread) =>
      client.threads.delete.mutate({ space_id: space, thread_id: thread }),
    show: ({ data }) => fields(data),
  });
}
