import { z } from 'zod';

/** Ids become parts of paths. */
const id = z.string().regex(/^[A-Za-z0-9_-]{1,200}$/);
const token = z.string().min(1).max(8_000);

const permission = z.object({
  type: z.string(),
  emailAddress: z.string().max(320).optional(),
  domain: z.string().max(253).optional(),
  allowFileDiscovery: z.boolean().optional(),
  deleted: z.boolean().optional(),
  expirationTime: z.string().optional(),
  view: z.string().optional(),
});
export type Permission = z.output<typeof permission>;

export const file = z.object({
  id,
  name: z.string(),
  mimeType: z.string().max(255),
  version: z.string().max(40).optional(),
  md5Checksum: z.string().max(64).optional(),
  size: z
    .string()
    .regex(/^\d{1,16}$/)
    .optional(),
  trashed: z.boolean().optional(),
  driveId: z.string().optional(),
  /** Of files of shared drives only. */
  capabilities: z.object({ canReadDrive: z.boolean().optional() }).optional(),
  webViewLink: z.string().max(4_000).optional(),
  permissions: z.array(permission).max(1_000).optional(),
});
export type DriveFile = z.output<typeof file>;

const permissionFields = 'type,emailAddress,domain,allowFileDiscovery,deleted,expirationTime,view';
export const plainFields =
  'id,name,mimeType,version,md5Checksum,size,trashed,driveId,capabilities(canReadDrive),webViewLink';
export const fileFields = (readers: boolean): string =>
  readers ? `${plainFields},permissions(${permissionFields})` : plainFields;
export const permissionPageFields = `nextPageToken,permissions(${permissionFields})`;

export const startToken = z.object({ startPageToken: token });
export const files = z.object({
  files: z.array(file).max(1_000),
  nextPageToken: token.optional(),
  incompleteSearch: z.boolean().optional(),
});
export const changes = z.object({
  changes: z
    .array(
      z.object({
        changeType: z.string().optional(),
        removed: z.boolean().optional(),
        fileId: id.optional(),
        file: file.optional(),
      }),
    )
    .max(1_000),
  nextPageToken: token.optional(),
  newStartPageToken: token.optional(),
});
export const permissions = z.object({
  permissions: z.array(permission).max(1_000),
  nextPageToken: token.optional(),
});
