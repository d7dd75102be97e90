import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Continuation, InputModality, ProviderKind } from '#domain/capabilities/models/model-gateway.ts';
import type { Client } from '../connect.ts';
import type { FetchModelOptions } from '../fetch-model.ts';
import { slimPriceFile } from '../price-file.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface InTenant {
  tenant?: string;
}

interface PriceOptions {
  input: string;
  cachedInput?: string;
  output: string;
}

interface Settings {
  baseUrl?: string;
  credential?: string;
  credentialId?: string;
  continuation?: Continuation;
  reasoning?: boolean;
  modality?: InputModality[];
  contextWindow?: number;
  maxOutputTokens?: number;
}

const alias = '<alias>';
const inTenant = (command: Command): Command =>
  command.option('--tenant <id>', 'another tenant, for an operator of the platform');
const tenantOf = ({ tenant }: InTenant) => (tenant === undefined ? {} : { tenant_id: tenant });

const priced = (command: Command): Command =>
  command
    .requiredOption('--input <usd>', 'dollars per million tokens, such as 2.5')
    .option('--cached-input <usd>', 'the same for cached input; like --input when not given')
    .requiredOption('--output <usd>', 'the same for output');
const priceOf = ({ input, cachedInput, output }: PriceOptions) => ({
  input,
  output,
  ...(cachedInput === undefined ? {} : { cached_input: cachedInput }),
});

const configured = (command: Command): Command =>
  command
    .option('--base-url <url>', 'the server’s address')
    .option('--credential <variable>', 'the worker’s environment variable that holds the vendor’s key')
    .option('--credential-id <id>', 'a stored credential of the tenant instead')
    .option('--continuation <how>', 'reattach, prefill, instruct or none')
    .option('--reasoning', 'it reasons')
    .option('--no-reasoning', 'it does not')
    .option('--modality <name...>', 'text, image, file')
    .option('--context-window <tokens>', 'tokens', Number)
    .option('--max-output-tokens <tokens>', 'tokens', Number);
const settingsOf = (options: Settings) => ({
  ...(options.baseUrl === undefined ? {} : { base_url: options.baseUrl }),
  ...(options.credential === undefined ? {} : { credential_ref: options.credential }),
  ...(options.credentialId === undefined ? {} : { credential_id: options.credentialId }),
  ...(options.continuation === undefined ? {} : { continuation: options.continuation }),
  ...(options.reasoning === undefined ? {} : { supports_reasoning: options.reasoning }),
  ...(options.modality === undefined ? {} : { input_modalities: options.modality }),
  ...(options.contextWindow === undefined ? {} : { context_window: options.contextWindow }),
  ...(options.maxOutputTokens === undefined ? {} : { max_output_tokens: options.maxOutputTokens }),
});

export function addModels(program: Command): void {
  const group = program.command('models').description('models of the tenant');

  remote(inTenant(paged(group.command('list')).description('models with their prices, newest first')), {
    call: (client, options: InTenant & PageOptions) =>
      client.models.list.query({ ...tenantOf(options), ...pageInput(options) }),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          alias: (row) => row.alias,
          provider: (row) => row.provider_kind,
          model: (row) => row.provider_model,
          'usd in': (row) => row.price_usd_per_million.input,
          'usd out': (row) => row.price_usd_per_million.output,
          disabled: (row) => row.disabled_at,
        }),
        meta,
      ),
  });
  remote(inTenant(group.command('get').description('one model with its price').argument(alias)), {
    call: (client, options: InTenant, name) => client.models.get.query({ alias: name, ...tenantOf(options) }),
    show: ({ data }) => fields(data),
  });
  remote(
    configured(priced(group.command('add')))
      .description('a model with its first price; what is not given is the provider’s default')
      .argument(alias)
      .requiredOption('--provider <kind>', 'openai, anthropic, google or openai_compatible')
      .requiredOption('--model <name>', 'the vendor’s own name of it'),
    {
      call: (client, options: Settings & PriceOptions & { provider: ProviderKind; model: string }, name) =>
        client.models.add.mutate({
          alias: name,
          provider_kind: options.provider,
          provider_model: options.model,
          ...settingsOf(options),
          price: priceOf(options),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(configured(group.command('update').description('change what is given').argument(alias)), {
    call: (client, options: Settings, name) =>
      client.models.update.mutate({ alias: name, ...settingsOf(options) }),
    show: ({ data }) => fields(data),
  });
  for (const [verb, disabled, what] of [
    ['disable', true, 'no new response may use it'],
    ['enable', false, 'new responses may use it again'],
  ] as const) {
    remote(group.command(verb).description(what).argument(alias), {
      call: (client, _options, name) => client.models.disable.mutate({ alias: name, disabled }),
      show: ({ data }) => fields({ alias: data.alias, disabled_at: data.disabled_at }),
    });
  }
  group
    .command('fetch')
    .description(
      'fetch and verify the builtin embedding model into the cache of this machine (EMBEDDING_MODEL_URL, EMBEDDING_MODEL_PATH, EMBEDDING_CACHE_DIR)',
    )
    .option('--json', 'print JSON')
    .action(async (options: FetchModelOptions) => {
      const { fetchModel } = await import('../fetch-model.ts');
      await fetchModel(options);
    });
}

export function addPrices(program: Command): void {
  const group = program.command('prices').description('prices of models; only operators set them');

  remote(inTenant(group.command('list').description('all prices of a model').argument(alias)), {
    call: (client, options: InTenant, name) =>
      client.prices.list.query({ alias: name, ...tenantOf(options) }),
    show: ({ data }) =>
      table(data, {
        from: (row) => row.valid_from,
        'usd in': (row) => row.usd_per_million.input,
        cached: (row) => row.usd_per_million.cached_input,
        'usd out': (row) => row.usd_per_million.output,
      }),
  });
  remote(
    inTenant(priced(group.command('set').description('a new price of a model').argument(alias))).option(
      '--from <time>',
      'ISO 8601; now when not given',
    ),
    {
      call: (client, options: InTenant & PriceOptions & { from?: string }, name) =>
        client.prices.set.mutate({
          alias: name,
          ...tenantOf(options),
          price: priceOf(options),
          ...(options.from === undefined ? {} : { valid_from: options.from }),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(
    inTenant(
      group
        .command('import')
        .description('take new prices from a public price file')
        .argument('<file>', 'api.json of models.dev, or LiteLLM’s model_prices_and_context_window.json'),
    ).option('--dry-run', 'only report what would change'),
    {
      call: async (client, options: InTenant & { dryRun?: boolean }, file) => {
        const names = await vendorNames(client, options);
        return client.prices.import.mutate({
          ...tenantOf(options),
          document: slimPriceFile(readFileSync(file, 'utf8'), names),
          dry_run: options.dryRun === true,
        });
      },
      show: ({ data }) =>
        table(
          [
            ...data.imported.map((row) => ({ ...row, what: 'imported' })),
            ...data.skipped.map((row) => ({ ...row, what: row.reason, usd_per_million: undefined })),
          ],
          {
            alias: (row) => row.alias,
            model: (row) => row.provider_model,
            result: (row) => row.what,
            'usd in': (row) => row.usd_per_million?.input,
            'usd out': (row) => row.usd_per_million?.output,
          },
        ),
    },
  );
}

async function vendorNames(client: Client, options: InTenant): Promise<Set<string>> {
  const names = new Set<string>();
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await client.models.list.query({
      ...tenantOf(options),
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    });
    page.data.forEach((model) => names.add(model.provider_model));
    cursor = page.meta.next_cursor;
  }
  return names;
}
