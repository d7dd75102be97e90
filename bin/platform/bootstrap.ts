import { newId } from '#domain/foundation/kernel/ids.ts';
import { openTenant } from '#domain/workspace/tenants/open-tenant.ts';
import { platformTenantId } from '#domain/workspace/tenants/platform-tenant.ts';
import { setUpPlatform } from '#domain/workspace/tenants/set-up-platform.ts';
import { print, withSession, type Session } from './session.ts';

export interface BootstrapOptions {
  slug?: string;
  name?: string;
  json?: boolean;
}

const origin = { via: 'cli', requestId: null } as const;

/**
 * The first operator of a deployment and, when it is named, the first tenant. Everything else is done over
 * the network with their keys. Each further run creates one more operator.
 */
export async function bootstrap(options: BootstrapOptions): Promise<void> {
  const { slug, name } = options;
  if ((slug === undefined) !== (name === undefined)) {
    throw new Error('--slug and --name go together.');
  }
  await withSession(async ({ unitOfWork, secrets }) => {
    // Steps that may be refused come first.
    const opened =
      slug === undefined || name === undefined
        ? {}
        : await openFirst({ unitOfWork, secrets }, { slug, name });
    const operator = await unitOfWork.inTenant(platformTenantId, (em) => setUpPlatform(em, secrets, origin));
    print(
      {
        platform_tenant_id: platformTenantId,
        operator_id: operator.principalId,
        operator_key: operator.token,
        ...opened,
      },
      options.json,
    );
  });
}

async function openFirst(
  { unitOfWork, secrets }: Pick<Session, 'unitOfWork' | 'secrets'>,
  input: { slug: string; name: string },
): Promise<Record<string, string>> {
  const id = newId();
  const opened = await unitOfWork.inTenant(id, (em) => openTenant({ em, secrets, origin }, { id, ...input }));
  const { tenantId, principalId, spaceId, token } = opened;
  return { tenant_id: tenantId, principal_id: principalId, space_id: spaceId, api_key: token };
}
