import { signCertificate } from '#domain/operations/erasure-proof/sign-certificate.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import type { Maker, Place } from './places.ts';
import type { CallWorld } from './call-world.ts';
import type { ProcedureFixture } from './procedure-fixtures.ts';
import { secrets } from './world.ts';

/** Read with the token of a request, by its holder: the tests of deletions cover them. */
export const ofTokens = ['getDeletionCertificate'] as const;

/** Free text that contains no id. */
export const deletionText = ['deleteTenant query reason_code'];
export const deletionProcedureText = ['tenantDeletion.request reason_code'];

export const deletionCalls: Record<string, (place: Place) => Promise<Call>> = {
  getDeletionCertificate: async () => ({
    method: 'GET',
    path: `/v1/deletions/${newId()}/certificate`,
    headers: { authorization: `Bearer dc.${'A'.repeat(43)}` },
  }),
};

const reason = 'reason_code=test_cleanup';

/** A tenant whose deletion is scheduled. */
async function scheduled(maker: Maker, place: Place): Promise<string> {
  const { body } = await maker.admin.openTenant();
  const id = body.data.tenant_id as string;
  const apiKey = await maker.admin.operatorOf(place);
  await maker.send({ method: 'DELETE', path: `/v1/admin/tenants/${id}?${reason}`, apiKey });
  return id;
}

/** The place's own tenant, of which a deletion was requested and cancelled. */
async function cancelled(maker: Maker, place: Place): Promise<string> {
  const path = `/v1/admin/tenants/${place.tenantId}`;
  const apiKey = await maker.admin.operatorOf(place);
  await maker.send({ method: 'DELETE', path: `${path}?${reason}`, apiKey });
  await maker.send({ method: 'POST', path: `${path}/deletion/cancel`, apiKey });
  return place.tenantId;
}

const openedTenant = async (maker: Maker): Promise<string> =>
  (await maker.admin.openTenant()).body.data.tenant_id as string;

export function deletionFixtures(maker: Maker): Record<string, IdFixture> {
  const of = (method: string, rest: string) => ({
    make: (place: Place) => cancelled(maker, place),
    unknown: newId,
    call: async (place: Place, id: string): Promise<Call> => ({
      method,
      path: `/v1/admin/tenants/${id}${rest}`,
      apiKey: place.apiKey,
    }),
    refusal: '404 tenant_not_found',
    neighbourRefusal: null,
  });
  const deleting = of('DELETE', `?${reason}`);
  return {
    // A deletion of the place's own tenant would end all other tests here.
    'deleteTenant path tenant_id': {
      ...deleting,
      make: () => openedTenant(maker),
      operator: true,
      call: async (place, id) => ({
        ...(await deleting.call(place, id)),
        apiKey: await maker.admin.operatorOf(place),
      }),
    },
    'getTenantDeletion path tenant_id': of('GET', '/deletion'),
    'cancelTenantDeletion path tenant_id': of('POST', '/deletion/cancel'),
  };
}

export function deletionProcedures(maker: Maker): Record<string, ProcedureFixture> {
  const ids = { tenant_id: { unknown: newId, code: '404 tenant_not_found' } };
  return {
    'tenantDeletion.request': {
      operator: true,
      input: async () => ({ tenant_id: await openedTenant(maker), reason_code: 'test_cleanup' }),
      ids,
    },
    'tenantDeletion.get': {
      input: async (place) => ({ tenant_id: await cancelled(maker, place) }),
      ids,
    },
    'tenantDeletion.cancel': {
      operator: true,
      input: async (place) => ({ tenant_id: await scheduled(maker, place) }),
      ids,
    },
  };
}

/** A deletion that has ended, with the request that reads its certificate. */
export async function certified({
  admin,
  operator,
  gateway,
}: Pick<CallWorld, 'admin' | 'operator' | 'gateway'>): Promise<{
  path: string;
  headers: Record<string, string>;
}> {
  const body = { slug: `t-${newId()}`, name: 'Tenant' };
  const { apiKey } = operator;
  const opened = await gateway.send({ method: 'POST', path: '/v1/admin/tenants', apiKey, body });
  const tenantId = opened.body.data.tenant_id as string;
  const path = `/v1/admin/tenants/${tenantId}?${reason}`;
  const { data } = (await gateway.send({ method: 'DELETE', path, apiKey })).body;
  const at = new Date().toISOString();
  const certificate = signCertificate(
    {
      version: 1,
      tenant_id: tenantId,
      deletion_id: data.deletion_id,
      reason_code: 'test_cleanup',
      software_version: 'test',
      requested_at: at,
      began_at: at,
      finished_at: at,
      erased_by_key: { key_ids: [], destroyed_at: at },
      erased_by_row: { rows_before: {}, rows_erased: {}, bytes: {} },
      external_revocations: [],
      workflow_histories_deleted: 0,
      event_chain: null,
      verification: { verified_at: at, tables: {}, shared: {}, bytes: 0, workflows: 0, sampled_ids: 0 },
    },
    secrets.certificateKey(),
  );
  await admin.query(
    'insert into app.tenant_tombstones (deletion_id, tenant_id, reason_code, certificate) values ($1, $2, $3, $4)',
    [data.deletion_id, tenantId, 'test_cleanup', JSON.stringify(certificate)],
  );
  return {
    path: `/v1/deletions/${data.deletion_id}/certificate`,
    headers: { authorization: `Bearer ${data.certificate_token}` },
  };
}
