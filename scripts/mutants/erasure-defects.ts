import type { Defect } from './defect.ts';

const tenant = 'test/domain/operations/erasure/erase-tenant.test.ts';
const keys = 'test/domain/operations/erasure/destroy-data-key.test.ts';
const verifier = 'test/domain/operations/erasure-proof/verify-erasure.test.ts';
const certificate = 'test/domain/operations/erasure-proof/certificate.test.ts';

/** In what is erased, how it is checked, and what is certified. */
export const erasureDefects: readonly Defect[] = [
  {
    name: 'a table left out of the erasure',
    file: 'domain/operations/erasure/plan-erasure.ts',
    replace: [['const deletions = tables.map(', 'const deletions = tables.slice(1).map(']],
    test: tenant,
    caughtBy: 'leaves nothing of it anywhere',
  },
  {
    name: 'the last piece of a table skipped',
    file: 'domain/operations/schema/functions/erasure.sql',
    replace: [
      [
        '    execute p_erase using p_tenant, behind, up_to;\n    get diagnostics piece_rows = row_count;',
        '    piece_rows := 0;\n    if behind is null or up_to is not null then execute p_erase using p_tenant, behind, up_to; get diagnostics piece_rows = row_count; end if;',
      ],
    ],
    test: tenant,
    caughtBy: 'leaves nothing of it anywhere',
  },
  {
    name: 'rows left by a pass forgotten',
    file: 'domain/operations/erasure/erase-batch.ts',
    replace: [['if (!place.left) return null;', 'return null;']],
    test: tenant,
    caughtBy: 'leaves nothing of it anywhere',
  },
  {
    name: 'a batch without a limit of its locks',
    file: 'domain/operations/erasure/erasure-database.ts',
    replace: [['statementTimeoutMs: maxLockMs', 'statementTimeoutMs: 60_000']],
    test: tenant,
    caughtBy: 'is undone and tried smaller',
  },
  {
    name: 'whole tables read to check a foreign key',
    file: 'domain/operations/schema/functions/erasure.sql',
    replace: [['\nset enable_seqscan = off set enable_bitmapscan = off as $$', ' as $$']],
    test: tenant,
    caughtBy: 'checks the foreign keys of a row by their indexes',
  },
  {
    name: 'a shared partition emptied',
    file: 'domain/operations/schema/functions/erasure.sql',
    replace: [[' and not exists (select from %1$s where tenant_id > $1)', '']],
    test: tenant,
    caughtBy: 'that holds one tenant alone',
  },
  {
    name: 'keys of an erased tenant not destroyed',
    file: 'domain/operations/erasure/destroy-data-key.ts',
    replace: [
      [
        'delete from data_keys where tenant_id = ? returning id',
        'select id from data_keys where tenant_id = ?',
      ],
    ],
    test: keys,
    caughtBy: 'makes everything sealed under them unreadable',
  },
  {
    name: 'a key kept in memory after it was destroyed',
    file: 'domain/foundation/secrets/open-fields.ts',
    replace: [
      [
        'const wrapped = new Map(rows.map((row) => [row.id, row.wrapped]));',
        `const kept = globalThis as unknown as { keys?: Map<string, string> };
  const wrapped = (kept.keys ??= new Map());
  for (const row of rows) wrapped.set(row.id, row.wrapped);`,
      ],
    ],
    test: keys,
    caughtBy: 'makes everything sealed under them unreadable',
  },
  {
    name: 'keys destroyed beside one in the making',
    file: 'domain/operations/erasure/destroy-data-key.ts',
    replace: [['where tenant_id = ? for update', 'where tenant_id = ?']],
    test: keys,
    caughtBy: 'includes the key that an open transaction is making',
  },
  {
    name: 'a new key for a tenant that is being erased',
    file: 'domain/foundation/secrets/seal-field.ts',
    replace: [[`status not in ('deleting', 'deleted') for key share`, 'true for key share']],
    test: keys,
    caughtBy: 'no key takes their place',
  },
  {
    name: 'a verifier that trusts the erasure',
    file: 'domain/operations/erasure-proof/count-rows.ts',
    replace: [['counts.set(name, Number(rows[0]?.n));', 'counts.set(name, rows.length - 1);']],
    test: verifier,
    caughtBy: 'finds what an erasure left out',
  },
  {
    name: 'a table that the verifier cannot see taken for empty',
    file: 'domain/operations/erasure-proof/count-rows.ts',
    replace: [['if (!readable || (secured && !shown)) {', 'if (!readable) {']],
    test: verifier,
    caughtBy: 'takes nothing for gone',
  },
  {
    name: 'a certificate signed over other bytes',
    file: 'domain/operations/erasure-proof/sign-certificate.ts',
    replace: [['Buffer.from(canonicalJson(parsed))', 'Buffer.from(canonicalJson(parsed.verification))']],
    test: certificate,
    caughtBy: 'is verified from its file',
  },
  {
    name: 'a certificate of any key accepted',
    file: 'domain/operations/erasure-proof/verify-certificate.ts',
    replace: [
      ['if (signature.public_key !== publicKey) {', 'if (false) {'],
      ['const key = readKey(publicKey);', 'const key = readKey(signature.public_key);'],
    ],
    test: certificate,
    caughtBy: 'that somebody else signed is refused',
  },
  {
    name: 'a certificate over what is left',
    file: 'domain/operations/erasure-proof/sign-certificate.ts',
    replace: [['if (!foundNothing(parsed.verification)) throw', 'if (parsed.version !== 1) throw']],
    test: certificate,
    caughtBy: 'is not signed while anything is left',
  },
];
