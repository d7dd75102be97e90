import { z } from 'zod';

/** Ids become parts of paths. */
const id = z.string().regex(/^[A-Za-z0-9!_-]{1,200}$/);
export const maxLinkLength = 4_000;
const link = z.string().min(1).max(maxLinkLength);
/** Of a path below a library. SharePoint allows 400 characters for a path together with that of its library. */
export const maxPathLength = 1_000;
/** Null: longer than any path, or no name of a file, and not held. */
const name = z
  .string()
  .transform((text) => (text.length > maxPathLength || text.includes('/') ? null : text));
/** A facet: that it is there counts, whatever it holds. */
const facet = z.object({}).nullish();

export const site = z.object({ id: z.string().regex(/^[A-Za-z0-9.,_-]{1,400}$/) });

export const drive = z.object({ id, name: z.string().max(1_000) });
export type Drive = z.output<typeof drive>;
export const driveFields = 'id,name';

const guid = z.string().max(64).nullish();
/** Of which site it is, where the service says it. */
export const driveHome = z.object({
  id,
  sharePointIds: z.object({ siteId: guid, webId: guid }).nullish(),
});
export type DriveHome = z.output<typeof driveHome>;

export const drives = z.object({
  value: z.array(drive).max(1_000),
  '@odata.nextLink': link.optional(),
});
export type Drives = z.output<typeof drives>;

const hash = z.string().max(200).nullish();
export const item = z.object({
  id,
  name: name.nullish(),
  /** Null also for what is no count of bytes: a listing does not fail for it. */
  size: z.int().nonnegative().nullish().catch(null),
  eTag: z.string().max(500).nullish(),
  webUrl: z.string().nullish(),
  createdDateTime: z.string().max(64).nullish(),
  lastModifiedDateTime: z.string().max(64).nullish(),
  parentReference: z.object({ id: id.nullish() }).nullish(),
  file: z
    .object({
      mimeType: z.string().max(255).nullish(),
      hashes: z.object({ quickXorHash: hash, sha256Hash: hash, sha1Hash: hash }).nullish(),
    })
    .nullish(),
  folder: facet,
  package: facet,
  root: facet,
  deleted: facet,
  malware: facet,
  remoteItem: facet,
});
export type DriveItem = z.output<typeof item>;
/** Named, so that pages hold no addresses with which contents can be read without a credential. */
export const itemFields = Object.keys(item.shape).join(',');

export const delta = z.object({
  value: z.array(item).max(5_000),
  '@odata.nextLink': link.optional(),
  '@odata.deltaLink': link.optional(),
});

const code = z.string().nullish().catch(null);
export const refusal = z.object({
  error: z.object({ code, innerError: z.object({ code }).nullish().catch(null) }),
});

export const root = z.object({ id });
