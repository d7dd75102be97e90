import type { Defect } from './defect.ts';

const races = 'test/domain/operations/tenant-deletion/races.test.ts';
const life = 'test/domain/operations/tenant-deletion/life.test.ts';
const api = 'test/api/tenant-deletion.test.ts';
const functions = 'domain/operations/schema/functions/tenant-deletion.sql';

/** In the deletion of tenants. */
export const deletionDefects: readonly Defect[] = [
  {
    name: 'work that begins while its tenant is erased',
    file: functions,
    replace: [['then null else new end', 'then new else new end']],
    test: races,
    caughtBy: 'start no work once the erasure has begun',
  },
  {
    name: 'a log that is written after its tenant is gone',
    file: functions,
    replace: [['if not found then\n    raise foreign_key', 'if false then\n    raise foreign_key']],
    test: races,
    caughtBy: 'are erased or refused',
  },
  {
    name: 'a certificate of an erasure that was not clean',
    file: 'domain/operations/tenant-deletion/certify.ts',
    replace: [['proof == null || !foundNothing(proof)', 'proof == null']],
    test: life,
    caughtBy: 'is certified by nobody while a verifier finds something',
  },
  {
    name: 'a verification that overlooks histories',
    file: 'domain/operations/tenant-deletion/prove-erasure.ts',
    replace: [['found.clean && workflows === 0', 'found.clean']],
    test: life,
    caughtBy: 'counts histories that Temporal still lists',
  },
  {
    name: 'a running response that writes after the stop',
    file: 'domain/operations/tenant-deletion/halt-tenant.ts',
    replace: [['finishedAt: null, id: { $gt: after }', 'finishedAt: { $ne: null }, id: { $gt: after }']],
    test: api,
    caughtBy: 'ends: its streams within a second',
  },
  {
    name: 'a token of a certificate that never ends',
    file: 'domain/operations/tenant-deletion/open-certificate.ts',
    replace: [['const readAgainMs = 86_400_000;', 'const readAgainMs = Infinity;']],
    test: api,
    caughtBy: 'is read once more within a day of the first time',
  },
  {
    name: 'a second request whose deletion waits behind the cancelled one',
    file: 'workflows/delete-tenant/workflow.ts',
    replace: [['stage.next !== undefined', 'stage.next === undefined']],
    test: 'test/workflows/delete-tenant.test.ts',
    caughtBy: 'goes on with the deletion that was requested after the cancel',
  },
  {
    name: 'a late halt of a tenant that was restored',
    file: 'domain/operations/tenant-deletion/halt-tenant.ts',
    replace: [
      [
        `return tenant?.status === 'deletion_scheduled' || tenant?.status === 'deleting';`,
        'return tenant !== undefined;',
      ],
    ],
    test: api,
    caughtBy: 'goes on after a cancel, whenever an attempt of the halt arrives',
  },
  {
    name: 'an erasure that its verifier cannot see',
    file: 'domain/operations/tenant-deletion/erase-rows.ts',
    replace: [[`if (own(tables, 'public.tenants') !== 1) {`, `if (own(tables, 'public.tenants') === 7) {`]],
    test: life,
    caughtBy: 'goes no further while its verifier does not see the tenant',
  },
  {
    name: 'access to a tenant that is to be deleted',
    file: 'domain/foundation/access/policy.ts',
    replace: [['if (isDeleting && !whileDeleting) {', 'if (isDeleting && whileDeleting) {']],
    test: api,
    caughtBy: 'cuts the access of everybody at once',
  },
  {
    name: 'a grace time that owners shorten',
    file: 'domain/operations/tenant-deletion/request-deletion.ts',
    replace: [['!caller.isPlatform', 'false']],
    test: api,
    caughtBy: 'is refused with the query "reason_code=other&grace_seconds=60"',
  },
  {
    name: 'an erasure that is not repeated for what is left',
    file: 'workflows/delete-tenant/workflow.ts',
    replace: [['if (clean) {', 'if (clean || left.length > 0) {']],
    test: 'test/workflows/delete-tenant.test.ts',
    caughtBy: 'erases again what the verification finds',
  },
];
