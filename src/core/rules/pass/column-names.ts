/**
 * Returns the form in which column names of files are compared: without case, spaces, underscores, and hyphens. Two
 * columns with the same loose name are ambiguous.
 */
export function looseName(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]/g, '')
}
