import { z } from 'zod';
import { patternList } from '../shared/path-patterns.ts';
import { webUrl } from '../shared/web-url.ts';

export const s3Scope = z.strictObject({
  endpoint: webUrl(
    'Address of the S3 service, such as https://s3.eu-central-1.amazonaws.com or https://objects.example.org.',
  ),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/, 'must be a region, such as eu-central-1')
    .default('us-east-1')
    .describe('Region that requests are signed for; servers of one region mostly accept us-east-1.'),
  bucket: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/,
      'must be the name of a bucket: 3 to 63 of A-Z, a-z, 0-9, . _ -, such as handbook',
    )
    .describe('Bucket whose objects are documents.'),
  prefix: z
    .string()
    .max(512)
    .default('')
    .describe('Beginning of the keys that are listed, such as handbook/; empty: the whole bucket.'),
  include: patternList('Patterns of keys after the folder of the prefix, such as **/*.pdf; empty: all.'),
  exclude: patternList('Patterns of keys that are left out, such as drafts/.'),
  path_style: z
    .boolean()
    .default(true)
    .describe(
      'Whether the bucket is part of the path of an address; false: it becomes the first part of the host name.',
    ),
});

export type S3Scope = z.infer<typeof s3Scope>;
