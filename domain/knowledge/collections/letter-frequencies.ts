/** A language by the letters beyond ASCII that its texts have. */
export interface Alphabet {
  /** In lower case. */
  letters: string;
  /** All letters of the language, the most frequent one first; else only those that it adds to the Latin ones. */
  ranked: boolean;
}

const latin = (letters: string): Alphabet => ({ letters, ranked: false });
const script = (letters: string): Alphabet => ({ letters, ranked: true });

const western =
  'äöüß éèêàâçùûôîïëœ áéíóúñü ãáâàçéêíóõôú àèéìòù åäöé æøåé áðéíóúýþæö äöåüõšž éëïöüó äöüßéèêàâçñíóúáôî'
    .split(' ')
    .map(latin);
const central = ['áčďéěíňóřšťúůýž', 'áäčďéíĺľňóôŕšťúýž', 'ąćęłńóśźż', 'áéíóöőúüű', 'čćđšž', 'ăâîşţ'].map(
  latin,
);
const turkish = ['çğıöşüâîû\u0130'].map(latin);
const baltic = ['ąčęėįšųūž', 'āčēģīķļņšūž', 'äöõüšž'].map(latin);
const cyrillic = [
  'оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё',
  'оаинвіертсклудмпяьзбгйчхцжюшїєщфґ',
  'аеиотнрсвлкдпмзбугъчцжшщйхяюфь',
  'аоиенрсјутквдмплгзбчшцжћђхњџфљ',
].map(script);
const greek = ['αοιετσνηυρπκμλςόίωάέγήδχθφύβώξζψϊϋΐΰ'].map(script);
const hebrew = ['יוהלאתרבשמנםחדעקפכגטןסזצךףץ'].map(script);
const arabic = ['اليمنرتوبهعدسفكقحجأةىشصطخذضإغءزثئظؤآ'].map(script);
const thai = ['านรอกเง่ม้ยลวดทส็ัีตคบปหแจไพชขโใถึผิืุู์ธซศณฐญภฟษะำๆฉฝฮฤฌฎฏฆฬ'].map(script);

/** Encodings of one byte a character, as `decodeBytes` takes them, with their languages; of equals the first counts. */
export const singleByteEncodings: readonly (readonly [encoding: string, alphabets: readonly Alphabet[]])[] = [
  ['windows-1252', western],
  ['iso-8859-15', western],
  ['windows-1250', central],
  ['iso-8859-2', central],
  ['windows-1254', turkish],
  ['windows-1257', baltic],
  ['macintosh', western],
  ['windows-1251', cyrillic],
  ['koi8-r', cyrillic],
  ['koi8-u', cyrillic],
  ['iso-8859-5', cyrillic],
  ['ibm866', cyrillic],
  ['ibm855', cyrillic],
  ['x-mac-cyrillic', cyrillic],
  ['windows-1253', greek],
  ['iso-8859-7', greek],
  ['windows-1255', hebrew],
  ['windows-1256', arabic],
  ['iso-8859-6', arabic],
  ['windows-874', thai],
];
