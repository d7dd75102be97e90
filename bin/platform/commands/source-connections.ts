import type { Command } from 'commander';
import { connectorRef, inCollection, type InCollection } from '../in-collection.ts';
import { fields } from '../print.ts';
import { remote } from '../remote.ts';
import { addPopup } from './connections.ts';

const connector = '<connector_id>';

/** Commands of the group `connectors` about the account of a connector. */
export function addSourceConnections(group: Command): void {
  addPopup(group, {
    connect: inCollection(group.command('connect'))
      .description('connect its account: prints a link for your browser, and waits for the code at its end')
      .argument(connector),
    begin: (client, options: InCollection, id) => client.connectors.connect.mutate(connectorRef(options, id)),
  });
  remote(inCollection(group.command('connection').description('its connection').argument(connector)), {
    call: (client, options: InCollection, id) =>
      client.connectors.connection.query(connectorRef(options, id)),
    show: ({ data }) => fields(data),
  });
  remote(
    inCollection(
      group.command('disconnect').description('revoke and erase its connection').argument(connector),
    ),
    {
      call: (client, options: InCollection, id) =>
        client.connectors.disconnect.mutate(connectorRef(options, id)),
      show: ({ data }) => fields(data),
    },
  );
}
