import { landMigrations } from './check/landed-migrations.ts';

/** `npm run land:migrations`: adds new migrations to the list of landed ones, which are never edited. */
for (const path of await landMigrations()) process.stdout.write(`${path}\n`);
