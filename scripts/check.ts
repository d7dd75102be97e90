import { runSteps, type Step } from './check/run-steps.ts';
import { reportFileSizes } from './check/file-sizes.ts';
import { findDialect } from './check/dialect.ts';
import { findForbiddenWords } from './check/forbidden-words.ts';
import { findKeyLookups } from './check/key-lookups.ts';
import { findEditedMigrations } from './check/landed-migrations.ts';
import { checkExpressions } from './check/regular-expressions.ts';
import { findRoomFaults } from './check/room-order.ts';

/** All checks required before a merge, except the tests. Every step runs, even after a failure. */
const steps: Step[] = [
  { name: 'format', command: ['oxfmt', '--check'] },
  { name: 'lint', command: ['oxlint', '--type-aware'] },
  { name: 'types', command: ['tsc', '--noEmit'] },
  { name: 'dead code', command: ['knip', '--no-progress', '--no-config-hints'] },
  { name: 'lock file', command: ['npm', 'ci', '--dry-run', '--ignore-scripts', '--no-audit', '--no-fund'] },
  { name: 'OpenAPI snapshot', command: ['node', 'scripts/openapi.ts', '--check'] },
  { name: 'migration drift', command: ['node', 'scripts/check-migrations.ts'] },
  { name: 'landed migrations', run: findEditedMigrations },
  { name: 'rooms of the domain', run: findRoomFaults },
  { name: 'file sizes', run: reportFileSizes },
  { name: 'look-ups by keys from outside', run: findKeyLookups },
  { name: 'regular expressions', run: checkExpressions },
  { name: 'forbidden words', run: findForbiddenWords },
  { name: 'standard terms', run: findDialect },
];

process.exitCode = (await runSteps(steps)) ? 0 : 1;
