import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DevFiles } from '../../../src/cli/template/dev-files.ts'
import { plainPng } from '../../../src/files/plain-png.ts'
import { temporaryFolder } from '../../support/databases.ts'

test('watches each image that cannot be read, so that the page follows its repair', async () => {
  const folder = temporaryFolder()
  const [path, image, icon] = [join(folder, 'ticket.json'), join(folder, 'logo.png'), join(folder, 'icon.png')]
  const design = { organizationName: 'Fair', description: 'Ticket', images: { icon: 'icon.png', logo: 'logo.png' } }
  const text = JSON.stringify({ name: 'Ticket', passType: 'generic', definition: { design } })
  writeFileSync(path, text)
  const files = new DevFiles(path, undefined)
  const placeOf = (name: string) => `1:${text.indexOf(`"${name}"`) + 1}`
  const title = `${path} names images that cannot be used`
  expect(await files.read()).toEqual({
    faults: [
      title,
      `${placeOf('icon.png')} definition.design.images.icon: ${icon} does not exist`,
      `${placeOf('logo.png')} definition.design.images.logo: ${image} does not exist`,
    ],
  })
  expect(files.paths()).toEqual([path, icon, image])
  writeFileSync(icon, plainPng(114, 114, '#22313f'))
  writeFileSync(image, 'no image')
  expect(await files.read()).toEqual({
    faults: [title, `${placeOf('logo.png')} definition.design.images.logo: ${image} is neither PNG nor JPEG`],
  })
  expect(files.paths()).toEqual([path, image])
  writeFileSync(image, plainPng(480, 150, '#22313f'))
  expect(await files.read()).toMatchObject({ content: { problems: [] } })
  expect(files.paths()).toEqual([path, icon, image])
})
