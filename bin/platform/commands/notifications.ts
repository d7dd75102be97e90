import type { Command } from 'commander';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface Filters extends PageOptions {
  category?: 'space' | 'collection' | 'security' | 'system';
  unread?: boolean;
}

const id = '<notification_id>';

export function addNotifications(program: Command): void {
  const group = program.command('notifications').description('the caller’s own notifications');

  remote(
    paged(group.command('list').description('notifications, newest first'))
      .option('--category <category>', 'space, collection, security or system')
      .option('--unread', 'only those that were not read'),
    {
      call: (client, { category, unread, ...page }: Filters) =>
        client.notifications.list.query({
          ...pageInput(page),
          ...(category === undefined ? {} : { category }),
          ...(unread === true ? { unread_only: true } : {}),
        }),
      show: ({ data, meta }) =>
        withNext(
          table(data, {
            id: (row) => row.id,
            category: (row) => row.category,
            title: (row) => row.title,
            about: (row) => (row.resource_id === null ? null : `${row.resource_type} ${row.resource_id}`),
            read: (row) => row.read_at,
            created: (row) => row.created_at,
          }),
          meta,
        ),
    },
  );
  remote(group.command('count').description('how many are unread'), {
    call: (client) => client.notifications.unreadCount.query({}),
    show: ({ data }) => fields(data),
  });
  remote(group.command('get').description('one notification').argument(id), {
    call: (client, _options, notification) =>
      client.notifications.get.query({ notification_id: notification }),
    show: ({ data }) => fields(data),
  });
  remote(group.command('read').description('mark one as read').argument(id), {
    call: (client, _options, notification) =>
      client.notifications.read.mutate({ notification_id: notification }),
    show: ({ data }) => fields(data),
  });
  remote(group.command('read-all').description('mark all as read that are there now'), {
    call: (client) => client.notifications.readAll.mutate({}),
    show: ({ data }) => fields(data),
  });
}
