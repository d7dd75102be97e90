import type { Command } from 'commander';
import type { RegisterRerankingModel } from '#domain/knowledge/reranking/register-reranking-model.ts';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface Settings {
  baseUrl?: string;
  credentialId?: string;
  maxTokens?: number;
  scoreScale?: NonNullable<RegisterRerankingModel['scoreScale']>;
  price?: string;
  searchPrice?: string;
}

interface NewModel extends Settings {
  provider: RegisterRerankingModel['providerKind'];
  model: string;
}

const id = '<reranking_model_id>';

const configured = (command: Command): Command =>
  command
    .option('--base-url <url>', 'the address above /rerank')
    .option('--credential-id <id>', 'a stored credential of the tenant')
    .option('--max-tokens <tokens>', 'of a question and a passage; longer ones are truncated', Number)
    .option('--score-scale <scale>', 'probability, cosine or logit')
    .option('--price <usd>', 'dollars per million tokens, such as 0.02')
    .option('--search-price <usd>', 'dollars per thousand searches, such as 2');
const settingsOf = (options: Settings) => ({
  ...(options.baseUrl === undefined ? {} : { base_url: options.baseUrl }),
  ...(options.credentialId === undefined ? {} : { credential_id: options.credentialId }),
  ...(options.maxTokens === undefined ? {} : { max_tokens: options.maxTokens }),
  ...(options.scoreScale === undefined ? {} : { score_scale: options.scoreScale }),
  ...(options.price === undefined ? {} : { price: options.price }),
  ...(options.searchPrice === undefined ? {} : { search_price: options.searchPrice }),
});

export function addRerankingModels(program: Command): void {
  const group = program.command('reranking-models').description('reranking models of the tenant');

  remote(paged(group.command('list')).description('reranking models, newest first'), {
    call: (client, options: PageOptions) => client.rerankingModels.list.query(pageInput(options)),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          alias: (row) => row.alias,
          provider: (row) => row.provider_kind,
          model: (row) => row.provider_model,
          scores: (row) => row.score_scale,
          disabled: (row) => row.disabled_at,
        }),
        meta,
      ),
  });
  remote(group.command('get').description('one reranking model').argument(id), {
    call: (client, _options, model) => client.rerankingModels.get.query({ reranking_model_id: model }),
    show: ({ data }) => fields(data),
  });
  remote(
    configured(group.command('add'))
      .description('a reranking model of a vendor or of an own server')
      .argument('<alias>')
      .requiredOption(
        '--provider <kind>',
        'cohere, jina, voyage, rerank_compatible or text_embeddings_inference',
      )
      .requiredOption('--model <name>', 'the vendor’s own name of it'),
    {
      call: (client, options: NewModel, alias) =>
        client.rerankingModels.add.mutate({
          alias,
          provider_kind: options.provider,
          provider_model: options.model,
          ...settingsOf(options),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(configured(group.command('update').description('change what is given').argument(id)), {
    call: (client, options: Settings, model) =>
      client.rerankingModels.update.mutate({ reranking_model_id: model, ...settingsOf(options) }),
    show: ({ data }) => fields(data),
  });
  for (const [verb, disabled, what] of [
    ['disable', true, 'no search uses it any more'],
    ['enable', false, 'spaces that have chosen it use it again'],
  ] as const) {
    remote(group.command(verb).description(what).argument(id), {
      call: (client, _options, model) =>
        client.rerankingModels.update.mutate({ reranking_model_id: model, disabled }),
      show: ({ data }) => fields({ alias: data.alias, disabled_at: data.disabled_at }),
    });
  }
}

export function addSpaceReranking(program: Command): void {
  const group = program.command('reranking').description('the model that orders the passages of a search');

  remote(inSpace(group.command('get').description('the model of a space')), {
    call: (client, { space }: InSpace) => client.spaceReranking.get.query({ space_id: space }),
    show: ({ data }) => fields(data),
  });
  remote(
    inSpace(group.command('choose').description('rerank the searches of a space').argument(id)).option(
      '--on-request',
      'only those that ask for it',
    ),
    {
      call: (client, { space, onRequest = false }: InSpace & { onRequest?: boolean }, model) =>
        client.spaceReranking.change.mutate({ space_id: space, model_id: model, by_default: !onRequest }),
      show: ({ data }) => fields(data),
    },
  );
  remote(inSpace(group.command('clear').description('rerank no search of a space')), {
    call: (client, { space }: InSpace) =>
      client.spaceReranking.change.mutate({ space_id: space, model_id: null }),
    show: ({ data }) => fields(data),
  });
  remote(
    inSpace(paged(group.command('usage')).description('what was reranked, by day and model')).option(
      '--days <n>',
      'days up to today, 1 to 31; 30 when not given',
      Number,
    ),
    {
      call: (client, { space, days, ...options }: InSpace & PageOptions & { days?: number }) =>
        client.spaceReranking.usage.query({
          space_id: space,
          ...(days === undefined ? {} : { days }),
          ...pageInput(options),
        }),
      show: ({ data, meta }) =>
        withNext(
          table(data, {
            day: (row) => row.day,
            model: (row) => row.model.alias,
            searches: (row) => row.searches,
            passages: (row) => row.passages,
            tokens: (row) => row.tokens,
            'cost (USD)': (row) => row.cost_usd,
          }),
          meta,
        ),
    },
  );
}
