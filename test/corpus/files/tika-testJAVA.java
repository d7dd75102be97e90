/*************************************************************************
 *  Compilation:  javac HelloWorld.java
 *  Execution:    java HelloWorld
 *
 *  Prints "Hello, World". By tradition, this is everyone's first program.
 *
 *************************************************************************/

public class HelloWorld {
    public static void main(String[] args) {
        System.out.println("Hello, World");
    }

}