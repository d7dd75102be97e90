/** `npm start` with the platform's four programs replaced; everything below them is real. */
import { launch } from '../../../bin/launcher/launch.ts';

const folder = 'test/launcher/stand-ins';
const exitCode = await launch({
  env: process.env,
  args: process.argv.slice(2),
  commands: {
    migrate: [`${folder}/migrate.ts`],
    demo: [`${folder}/demo.ts`],
    gateway: [`${folder}/service.ts`, 'PORT', process.env['CRASH_FILE'] ?? ''],
    worker: [`${folder}/service.ts`, 'WORKER_PORT'],
  },
});
process.exit(exitCode);
