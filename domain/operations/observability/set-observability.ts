import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { canonicalJson } from '#domain/foundation/kernel/canonical-json.ts';
import { DomainError, invalid, notFound } from '#domain/foundation/kernel/errors.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import { lockSpace } from '#domain/workspace/spaces/lock-space.ts';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { ObservabilityConfig, secretPlace } from './observability-config.entity.ts';

export interface SetObservability {
  publicKey: string;
  secretKey: string;
  /** Any JSON of at most 1,000 characters. */
  projectId: unknown;
  /** null: the deployment's. */
  baseUrl: string | null;
}

/** Allowed characters of user and password in HTTP basic authentication; a colon would end the user. */
const user = /^[\x21-\x39\x3b-\x7e]{1,200}$/;
const password = /^[\x21-\x7e]{1,500}$/;
const maxProjectLength = 1_000;

/**
 * Enables tracing of the space's later responses. The secret key is sealed at once and never returned.
 * @throws `missing_permission`, `invalid_request`, `url_not_allowed`
 */
export async function setObservability(ctx: Context, input: SetObservability): Promise<ObservabilityConfig> {
  authorize(ctx.caller, 'observability.update');
  checkInput(input);
  const { em, caller } = ctx;
  const place = { tenantId: caller.tenantId, spaceId: spaceOf(caller) };
  await lockSpace(ctx);
  const existing = await em.findOne(ObservabilityConfig, { spaceId: place.spaceId });
  const now = await databaseNow(em);
  const config =
    existing ??
    em.create(ObservabilityConfig, {
      ...place,
      publicKey: '',
      secretKey: '',
      projectId: null,
      updatedBy: caller.principalId,
    });
  config.publicKey = input.publicKey;
  config.secretKey = await sealField(ctx, secretPlace(place), input.secretKey);
  config.projectId = input.projectId ?? null;
  config.baseUrl = input.baseUrl === null ? null : tracingUrl(input.baseUrl);
  config.lastError = null;
  config.updatedBy = caller.principalId;
  config.updatedAt = now;
  await em.persist(config).flush();
  await setTraced(ctx, place.spaceId, true);
  await recordChange(ctx, place.spaceId, 'set');
  return config;
}

/**
 * Deletes the credentials. Later responses are not traced, and pending exports are dropped.
 * @throws `missing_permission`, `observability_config_not_found`
 */
export async function removeObservability(ctx: Context): Promise<void> {
  authorize(ctx.caller, 'observability.update');
  const spaceId = spaceOf(ctx.caller);
  await lockSpace(ctx);
  if ((await ctx.em.nativeDelete(ObservabilityConfig, { spaceId })) === 0) {
    throw notFound('observability_config_not_found');
  }
  await setTraced(ctx, spaceId, false);
  await recordChange(ctx, spaceId, 'removed');
}

async function setTraced({ em }: Context, spaceId: string, traced: boolean): Promise<void> {
  await em.nativeUpdate(Space, { id: spaceId }, { traced });
}

async function recordChange(ctx: Context, spaceId: string, change: 'set' | 'removed'): Promise<void> {
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.observability_updated',
    resource: { type: 'space', id: spaceId },
    metadata: { change },
  });
}

function checkInput({ publicKey, secretKey, projectId }: SetObservability): void {
  if (!user.test(publicKey)) {
    throw invalid('tracing_public_key', 'tracing_public_key must be 1 to 200 visible characters, no colon.');
  }
  if (!password.test(secretKey)) {
    throw invalid('tracing_secret_key', 'tracing_secret_key must be 1 to 500 visible characters.');
  }
  if (canonicalJson(projectId ?? null).length > maxProjectLength) {
    throw invalid(
      'tracing_project_id',
      `tracing_project_id must have at most ${maxProjectLength} characters.`,
    );
  }
}

/** Whether the address may be reached is decided when it is connected to. */
function tracingUrl(text: string): string {
  const url = URL.parse(text);
  const plain =
    url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new DomainError(
      'url_not_allowed',
      'tracing_base_url must be an https address without credentials.',
      {
        param: 'tracing_base_url',
      },
    );
  }
  return url.href;
}
