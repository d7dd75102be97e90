import { z } from 'zod';
import { patternList } from '../shared/path-patterns.ts';
import { maxDocuments, relistHours } from '../shared/scope-fields.ts';
import { webUrl } from '../shared/web-url.ts';

/** A cursor holds the place in each library. */
export const maxLibraries = 20;

export const sharepointScope = z
  .strictObject({
    api_url: webUrl('Address of Microsoft Graph with its version; national clouds have others.').default(
      'https://graph.microsoft.com/v1.0',
    ),
    site_url: webUrl(
      'Address of a site, such as https://contoso.sharepoint.com/sites/handbook, or of the OneDrive of a person, such as https://contoso-my.sharepoint.com/personal/anna_contoso_com. In place of drive_ids.',
    ).optional(),
    drive_ids: z
      .array(
        z
          .string()
          .regex(
            /^[A-Za-z0-9!_-]{1,200}$/,
            'must be the id of a drive of Microsoft Graph, such as b!… of /sites/<id>/drives',
          ),
      )
      .max(maxLibraries)
      .default([])
      .describe('Ids of the drives that are read, in place of site_url.'),
    libraries: z
      .array(z.string().min(1).max(255))
      .max(maxLibraries)
      .default([])
      .describe('Titles of the document libraries of the site that are read; empty: all.'),
    include: patternList(
      'Patterns of paths below a library, such as Handbook/**/*.docx; empty: all. `*` matches within a name, `**` over folders.',
    ),
    exclude: patternList('Patterns of paths below a library that are left out, such as Drafts/.'),
    tenant: z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$/,
        'must be the id of a tenant, or a domain of it, such as contoso.onmicrosoft.com',
      )
      .default('organizations')
      .describe(
        'Tenant of Microsoft Entra ID in which an account is connected; not used with a credential. Apps for accounts of one tenant need its id.',
      ),
    relist_hours: relistHours('what has changed').describe(
      'A run lists everything when the last complete listing is older than so many hours, and what has changed otherwise. 0: each run.',
    ),
    max_documents: maxDocuments('files', { max: 500_000, preset: 100_000 }),
  })
  .refine(({ site_url: site, drive_ids: drives }) => (site === undefined) === drives.length > 0, {
    path: ['site_url'],
    message: 'must be given, or drive_ids, but not both',
  })
  .refine(({ drive_ids: drives, libraries }) => drives.length === 0 || libraries.length === 0, {
    path: ['libraries'],
    message: 'must be empty with drive_ids',
  });

export type SharepointScope = z.output<typeof sharepointScope>;
