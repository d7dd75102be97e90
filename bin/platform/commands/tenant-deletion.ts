import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import type { Outputs } from '../connect.ts';
import { fields } from '../print.ts';
import { progressBar } from '../progress-bar.ts';
import { remote } from '../remote.ts';
import type { VerifyDeletionOptions } from '../verify-deletion.ts';

type Deletion = Outputs['tenantDeletion']['get'];

const pollMs = 1_000;

const seconds = (given: string): number => {
  if (!/^\d{1,8}$/.test(given)) throw new InvalidArgumentError('It is a number of seconds.');
  return Number(given);
};

/** A step before the erasure, or after a cancel, counts no rows. */
const rowsOf = (progress: Deletion['data']['progress']): string =>
  progress.rows_counted === null && progress.rows_done === 0 ? '' : `: ${progressBar(progress)}`;

const progressOf = ({ progress, failure }: Pick<Deletion['data'], 'progress' | 'failure'>): string[] => [
  `${progress.step}${progress.table === null ? '' : ` ${progress.table}`}${rowsOf(progress)}`,
  ...(failure === null
    ? []
    : [`It waits: ${failure.step} fails with ${failure.reason} since ${failure.at}.`]),
];

/** The deletion without its certificate, which is a file of its own. */
const show = ({ data: { progress, certificate, failure, ...deletion } }: Deletion): string =>
  [
    fields({ ...deletion, certificate: certificate === null ? null : 'signed' }),
    ...progressOf({ progress, failure }),
  ].join('\n');

export function addTenantDeletion(group: Command): void {
  remote(
    group
      .command('delete')
      .description('delete a tenant with everything that belongs to it; access ends at once')
      .argument('<tenant_id>')
      .requiredOption('--reason <code>', 'such as customer_request, contract_ended, test_cleanup')
      .option('--grace-seconds <n>', 'until the erasure begins; only operators may shorten it', seconds),
    {
      call: (client, { reason, graceSeconds }: { reason: string; graceSeconds?: number }, id) =>
        client.tenantDeletion.request.mutate({
          tenant_id: id,
          reason_code: reason,
          ...(graceSeconds === undefined ? {} : { grace_seconds: graceSeconds }),
        }),
      show: ({ data }) => fields(data),
    },
  );

  const deletion = group
    .command('deletion')
    .description('how far the deletion of a tenant is')
    .argument('<tenant_id>')
    .option('--wait', 'show its progress until it has ended');
  remote(deletion, {
    call: async (client, { wait }: { wait?: boolean }, id) => {
      for (let shown = ''; ; await sleep(pollMs)) {
        const found = await client.tenantDeletion.get.query({ tenant_id: id });
        if (wait !== true || found.data.ended_at !== null) {
          return found;
        }
        const lines = progressOf(found.data).join('\n');
        if (lines !== shown) deletion.configureOutput().writeErr?.(`${lines}\n`);
        shown = lines;
      }
    },
    show,
  });
  remote(
    group
      .command('deletion-certificate')
      .description('the certificate of a deletion, to be kept as a file')
      .argument('<tenant_id>'),
    {
      call: (client, _options, id) => client.tenantDeletion.get.query({ tenant_id: id }),
      show: ({ data }) => JSON.stringify(data.certificate, null, 2),
    },
  );

  remote(
    group
      .command('cancel-deletion')
      .description('restore a tenant before its erasure begins')
      .argument('<tenant_id>'),
    {
      call: (client, _options, id) => client.tenantDeletion.cancel.mutate({ tenant_id: id }),
      show,
    },
  );

  group
    .command('verify-deletion')
    .description('verify the certificate of a deletion, without a database and without a gateway')
    .argument('<file>')
    .option('--key <key>', 'the platform’s public key, else that of MASTER_KEY')
    .option('--json', 'print JSON')
    .action(async (file: string, options: VerifyDeletionOptions) => {
      const { verifyDeletion } = await import('../verify-deletion.ts');
      await verifyDeletion(file, options);
    });
  group
    .command('deletion-key')
    .description('the public key that verifies certificates of deletions (MASTER_KEY)')
    .action(async () => {
      const { printDeletionKey } = await import('../verify-deletion.ts');
      printDeletionKey();
    });
}
