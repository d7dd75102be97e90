const beginning = 'version https://git-lfs.github.com/spec/';
/** The specification's limit. */
const maxBytes = 1_024;

/** Whether a file only names a content that is kept outside of the repository. */
export function isLfsPointer(content: Buffer): boolean {
  return content.byteLength < maxBytes && content.toString('latin1', 0, beginning.length) === beginning;
}
