import type { Command } from 'commander';
import { inSpace, type InSpace } from './in-space.ts';

/** Options of a command about something in a collection. */
export interface InCollection extends InSpace {
  collection: string;
}

export function inCollection(command: Command): Command {
  return inSpace(command).requiredOption('--collection <id>', 'the collection');
}

export function connectorRef({ space, collection }: InCollection, id: string) {
  return { space_id: space, collection_id: collection, connector_id: id };
}
