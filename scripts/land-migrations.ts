import { landMigrations } from './check/landed-migrations.ts';

/** `npm run land:migrations`: enters new migrations into the list of those that are never edited. */
for (const path of await landMigrations()) process.stdout.write(`${path}\n`);
