import { mkdirSync, rmSync } from 'node:fs'
import { dirname, relative, sep } from 'node:path'
import { beginReplacement, type Replacement } from '../../files/private-file.ts'
import { existingFile } from '../command/existing-file.ts'

export interface WrittenFile {
  path: string
  content: string | Uint8Array
}

/** The mode of files that are not private. The user's umask restricts it. */
const FILE_MODE = 0o666

/**
 * Writes a template file and its images, and creates the folders of the images. Creates all files or none.
 * @throws CliError if a file exists and `replaces` is false
 */
export function writeTemplate(
  template: WrittenFile,
  images: readonly WrittenFile[],
  { replaces }: { replaces: boolean },
): void {
  const created: string[] = []
  const drafts: { path: string; draft: Replacement }[] = []
  try {
    for (const { path } of images) createFolders(dirname(template.path), dirname(path), created)
    for (const { path, content } of [...images, template]) {
      const draft = beginReplacement(path, FILE_MODE)
      drafts.push({ path, draft })
      draft.write(content)
    }
    // Commit the template last. Otherwise, a crash could leave a template without its images.
    for (const { path, draft } of drafts) {
      if (replaces) draft.commit()
      else {
        draft.commitNew()
        created.push(path)
      }
    }
    created.length = 0
  } catch (error) {
    const { code, path, dest = path } = error as NodeJS.ErrnoException & { dest?: string }
    throw code === 'EEXIST' ? existingFile(dest!) : error
  } finally {
    for (const { draft } of drafts) draft.close()
    for (const path of created.toReversed()) rmSync(path, { recursive: true })
  }
}

function createFolders(root: string, path: string, created: string[]): void {
  let folder = root
  for (const name of relative(root, path).split(sep)) {
    folder = `${folder}${sep}${name}`
    try {
      mkdirSync(folder)
      created.push(folder)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
