/** What lists can be sorted by; the command line offers it without loading the schemas of the contract. */

export const sortDirections = ['asc', 'desc'] as const

/** The first is what the list of passes is sorted by where nothing is said. */
export const passSorts = [
  'createdAt',
  'updatedAt',
  'label',
  'externalPassId',
  'status',
  'expiresAt',
  'templateName',
  'templateVersion',
  'revision',
  'groupKey',
] as const
