import { startGitServer } from '#test/support/sources/git-server.ts';
import { startS3Server, withoutS3 } from '#test/support/sources/s3-server.ts';
import { startSharepoint } from '#test/support/sources/sharepoint-server.ts';
import { startWebdavServer, withoutWebdav } from '#test/support/sources/webdav-server.ts';
import { describeRuns } from '#test/support/sources/whole-runs.ts';

describeRuns([
  // Its files come with one request.
  { title: 'git', missing: null, start: () => startGitServer({ secured: true }), awayAfter: 3 },
  {
    title: 'webdav (Apache)',
    missing: withoutWebdav('apache2'),
    start: () => startWebdavServer('apache2', { secured: true }),
  },
  // The pages of its listing are all that it is asked for.
  { title: 's3', missing: await withoutS3(), start: () => startS3Server(), idleRequests: 1 },
  {
    title: 'sharepoint',
    missing: null,
    start: () => startSharepoint(),
    nameOf: (name) => `Documents/${name}`,
    refOf: null,
    followsMoves: true,
  },
  { title: 'webdav (rclone)', missing: withoutWebdav('rclone'), start: () => startWebdavServer('rclone') },
]);
