import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields } from '../print.ts';
import { remote } from '../remote.ts';

interface Settings extends InSpace {
  publicKey: string;
  secretKeyFile: string;
  project?: string;
  baseUrl?: string;
}

export function addObservability(program: Command): void {
  const group = program.command('observability').description('where the responses of a space are traced to');

  remote(inSpace(group.command('get').description('without the secret key, which is never shown')), {
    call: (client, { space }: InSpace) => client.observability.get.query({ space_id: space }),
    show: ({ data }) => fields(data),
  });
  remote(
    inSpace(group.command('set').description('trace the responses that come from now on'))
      .requiredOption('--public-key <key>', 'of the tracing project')
      .requiredOption('--secret-key-file <path>', 'a file with its secret key')
      .option('--project <id>', 'goes along with every trace')
      .option('--base-url <url>', 'the deployment’s own when not given'),
    {
      call: (client, options: Settings) =>
        client.observability.set.mutate({
          space_id: options.space,
          tracing_public_key: options.publicKey,
          tracing_secret_key: readFileSync(options.secretKeyFile, 'utf8').trim(),
          ...(options.project === undefined ? {} : { tracing_project_id: options.project }),
          ...(options.baseUrl === undefined ? {} : { tracing_base_url: options.baseUrl }),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(inSpace(group.command('remove').description('forget the keys and trace no more')), {
    call: (client, { space }: InSpace) => client.observability.remove.mutate({ space_id: space }),
    show: ({ data }) => fields(data),
  });
}
