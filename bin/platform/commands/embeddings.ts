import type { Command } from 'commander';
import type { RegisterEmbeddingModel } from '#domain/knowledge/embeddings/register-embedding-model.ts';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface Settings {
  baseUrl?: string;
  credentialId?: string;
  maxTokens?: number;
  price?: string;
}

interface NewModel extends Settings {
  provider: RegisterEmbeddingModel['providerKind'];
  model: string;
  dims?: number;
  queryPrefix?: string;
  passagePrefix?: string;
}

const id = '<embedding_model_id>';

const configured = (command: Command): Command =>
  command
    .option('--base-url <url>', 'the server’s address')
    .option('--credential-id <id>', 'a stored credential of the tenant')
    .option('--max-tokens <tokens>', 'longer texts are truncated', Number)
    .option('--price <usd>', 'dollars per million tokens, such as 0.02');
const settingsOf = (options: Settings) => ({
  ...(options.baseUrl === undefined ? {} : { base_url: options.baseUrl }),
  ...(options.credentialId === undefined ? {} : { credential_id: options.credentialId }),
  ...(options.maxTokens === undefined ? {} : { max_tokens: options.maxTokens }),
  ...(options.price === undefined ? {} : { price: options.price }),
});

export function addEmbeddingModels(program: Command): void {
  const group = program.command('embedding-models').description('embedding models of the tenant');

  remote(paged(group.command('list')).description('embedding models, newest first'), {
    call: (client, options: PageOptions) => client.embeddingModels.list.query(pageInput(options)),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          alias: (row) => row.alias,
          provider: (row) => row.provider_kind,
          model: (row) => row.provider_model,
          dims: (row) => row.dims,
          disabled: (row) => row.disabled_at,
        }),
        meta,
      ),
  });
  remote(group.command('get').description('one embedding model').argument(id), {
    call: (client, _options, model) => client.embeddingModels.get.query({ embedding_model_id: model }),
    show: ({ data }) => fields(data),
  });
  remote(
    configured(group.command('add'))
      .description('an embedding model of a vendor or of an own server')
      .argument('<alias>')
      .requiredOption('--provider <kind>', 'openai, google or openai_compatible')
      .requiredOption('--model <name>', 'the vendor’s own name of it')
      .option('--dims <number>', 'length of its vectors', Number)
      .option('--query-prefix <text>', 'put before each question')
      .option('--passage-prefix <text>', 'put before each passage'),
    {
      call: (client, options: NewModel, alias) =>
        client.embeddingModels.add.mutate({
          alias,
          provider_kind: options.provider,
          provider_model: options.model,
          ...settingsOf(options),
          ...(options.dims === undefined ? {} : { dims: options.dims }),
          ...(options.queryPrefix === undefined ? {} : { query_prefix: options.queryPrefix }),
          ...(options.passagePrefix === undefined ? {} : { passage_prefix: options.passagePrefix }),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(configured(group.command('update').description('change what is given').argument(id)), {
    call: (client, options: Settings, model) =>
      client.embeddingModels.update.mutate({ embedding_model_id: model, ...settingsOf(options) }),
    show: ({ data }) => fields(data),
  });
  for (const [verb, disabled, what] of [
    ['disable', true, 'no space may choose it any more'],
    ['enable', false, 'spaces may choose it again'],
  ] as const) {
    remote(group.command(verb).description(what).argument(id), {
      call: (client, _options, model) =>
        client.embeddingModels.update.mutate({ embedding_model_id: model, disabled }),
      show: ({ data }) => fields({ alias: data.alias, disabled_at: data.disabled_at }),
    });
  }
}

export function addSpaceEmbedding(program: Command): void {
  const group = program.command('embedding').description('the model by which a space is searched by meaning');

  remote(inSpace(group.command('get').description('the model, and the progress of its change')), {
    call: (client, { space }: InSpace) => client.spaceEmbedding.get.query({ space_id: space }),
    show: ({ data }) => fields(data),
  });
  remote(inSpace(group.command('change').description('embed all documents by another model').argument(id)), {
    call: (client, { space }: InSpace, model) =>
      client.spaceEmbedding.change.mutate({ space_id: space, model_id: model }),
    show: ({ data }) => fields(data),
  });
  remote(inSpace(group.command('cancel').description('cancel the change, and keep the present model')), {
    call: (client, { space }: InSpace) => client.spaceEmbedding.cancel.mutate({ space_id: space }),
    show: ({ data }) => fields(data),
  });
  remote(
    inSpace(paged(group.command('usage')).description('what was embedded, by day and model')).option(
      '--days <n>',
      'days up to today, 1 to 31; 30 when not given',
      Number,
    ),
    {
      call: (client, { space, days, ...options }: InSpace & PageOptions & { days?: number }) =>
        client.spaceEmbedding.usage.query({
          space_id: space,
          ...(days === undefined ? {} : { days }),
          ...pageInput(options),
        }),
      show: ({ data, meta }) =>
        withNext(
          table(data, {
            day: (row) => row.day,
            model: (row) => row.model.alias,
            texts: (row) => row.texts,
            tokens: (row) => row.tokens,
            'cost (USD)': (row) => row.cost_usd,
          }),
          meta,
        ),
    },
  );
}
