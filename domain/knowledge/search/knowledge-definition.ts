import type { ToolDefinition } from '#domain/capabilities/models/model-gateway.ts';

export const knowledgeToolName = 'knowledge_search';

/** The tool definition that models get. */
export const knowledgeTool: ToolDefinition = {
  name: knowledgeToolName,
  description:
    'Searches the documents of this space and returns the passages that answer best. Each result has a label such as [1]: cite it right after every statement that rests on it.',
  parameters: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'What to look for, as a question or as keywords.' },
    },
    required: ['query'],
    additionalProperties: false,
  },
};
