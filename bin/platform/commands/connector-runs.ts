import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Client, Outputs } from '../connect.ts';
import { connectorRef, inCollection, type InCollection } from '../in-collection.ts';
import { fields, lines, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

type Run = Outputs['connectors']['getRun']['data'];

interface Syncing extends InCollection {
  mode?: Run['metadata']['mode'];
  confirmDeletions?: boolean;
  wait?: boolean;
  timeout: number;
}

const pollMs = 1_000;

interface OfRun extends InCollection {
  connector: string;
}

const ofConnector = (command: Command): Command =>
  inCollection(command).requiredOption('--connector <id>', 'the connector');

/** Commands about the runs of a connector. */
export function addRuns(group: Command): void {
  const sync = inCollection(group.command('sync'))
    .description('begin a run')
    .argument('<connector_id>')
    .option('--mode <mode>', 'full compares the content of every document; else incremental')
    .option('--confirm-deletions', 'apply deletions that the run before has held back')
    .option('--wait', 'show its progress until it has ended')
    .option('--timeout <seconds>', 'of --wait', Number, 3_600);
  remote(sync, {
    call: async (client, options: Syncing, id) => {
      const ref = connectorRef(options, id);
      const begun = await client.connectors.sync.mutate({
        ...ref,
        ...(options.mode === undefined ? {} : { mode: options.mode }),
        ...(options.confirmDeletions === true ? { confirm_deletions: true } : {}),
      });
      if (options.wait !== true) {
        return begun;
      }
      const show = (line: string) => sync.configureOutput().writeErr?.(`${line}\n`);
      return waitForEnd(client, { ...ref, sync_id: begun.data.id }, { show, seconds: options.timeout });
    },
    show: showRun,
    isFailure: ({ data }) => data.status === 'completed_with_errors',
  });
  remote(inCollection(paged(group.command('runs')).description('newest first')).argument('<connector_id>'), {
    call: (client, options: InCollection & PageOptions, id) =>
      client.connectors.listRuns.query({ ...connectorRef(options, id), ...pageInput(options) }),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          status: (row) => row.status,
          trigger: (row) => row.metadata.trigger,
          begun: (row) => row.started_at,
          ended: (row) => row.completed_at,
          seen: (row) => row.records_fetched,
          added: (row) => row.metadata.added,
          updated: (row) => row.metadata.updated,
          deleted: (row) => row.metadata.deleted,
          failed: (row) => row.metadata.failed,
          error: (row) => row.error_message,
        }),
        meta,
      ),
  });
  remote(ofConnector(group.command('run').description('one run with its counts').argument('<sync_id>')), {
    call: (client, options: OfRun, id) =>
      client.connectors.getRun.query({ ...connectorRef(options, options.connector), sync_id: id }),
    show: showRun,
  });
  remote(
    ofConnector(group.command('cancel').description('end a run; what it has stored stays')).argument(
      '<sync_id>',
    ),
    {
      call: (client, options: OfRun, id) =>
        client.connectors.cancel.mutate({ ...connectorRef(options, options.connector), sync_id: id }),
      show: showRun,
    },
  );
}

/** @throws when the run has not ended well, or not in time */
async function waitForEnd(
  client: Client,
  ref: { space_id: string; collection_id: string; connector_id: string; sync_id: string },
  { show, seconds }: { show: (line: string) => void; seconds: number },
): Promise<Outputs['connectors']['getRun']> {
  const end = Date.now() + seconds * 1_000;
  let shown = '';
  for (;;) {
    const run = await client.connectors.getRun.query(ref);
    const line = progressOf(run.data);
    if (line !== shown) {
      show(line);
      shown = line;
    }
    const { status, error_message: error } = run.data;
    if (status === 'failed' || status === 'cancelled') {
      throw new Error(`The run is ${status}. ${lines(error ?? '')}`.trim());
    }
    if (status !== 'queued' && status !== 'running') {
      return run;
    }
    if (Date.now() > end) {
      throw new Error(`The run has not ended in ${seconds} seconds; it goes on.`);
    }
    await sleep(pollMs);
  }
}

function progressOf({ status, records_fetched: seen, metadata }: Run): string {
  const { total, rate, added, updated, deleted, failed } = metadata;
  return [
    status,
    `${seen}${total === null ? '' : ` of ${total}`} documents`,
    ...(rate === null ? [] : [`${rate}/s`]),
    `${added} added, ${updated} updated, ${deleted} deleted, ${failed} failed`,
  ].join(' · ');
}

function showRun({ data: { metadata, ...run } }: Outputs['connectors']['getRun']): string {
  const { errors, ...counts } = metadata;
  const failures = table(errors, {
    document: (row) => row.ref ?? '',
    code: (row) => row.code,
    message: (row) => row.message,
  });
  return errors.length === 0
    ? fields({ ...run, ...counts })
    : `${fields({ ...run, ...counts })}\n\n${failures}`;
}
