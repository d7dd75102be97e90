import type { Command } from 'commander';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields } from '../print.ts';
import { remote } from '../remote.ts';

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
